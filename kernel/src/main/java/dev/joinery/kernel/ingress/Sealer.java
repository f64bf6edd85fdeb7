package dev.joinery.kernel.ingress;

import dev.joinery.kernel.bytes.BinaryRow;
import dev.joinery.kernel.bytes.SealedText;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.node.Assembler;
import dev.joinery.kernel.program.CompiledAssembler;
import dev.joinery.kernel.program.Program;
import dev.joinery.kernel.program.SealedProgram;
import dev.joinery.kernel.render.ValueText;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Seals the personal columns of decoded rows of one relation; remembers only scratch.
 *
 * <p>Invariant: no personal value of a row that it returns is clear.
 */
final class Sealer {
  private static final byte[] NOTHING = {};

  /** What takes the place of a row and of what it leaves out. */
  record Sealed(Slice row, long[] absent) {}

  private final byte[] relation;
  private final SealedProgram sealed;
  private final DataType[] types;
  private final DataType[] decodedTypes;
  private final ValueText[] texts;
  private final UnsafeProjection projection;
  private final UnsafeRow row;
  private final VaultLink vault;
  private final Assembler deriving;
  private int failures;

  /**
   * @param derived what derives columns from personal ones; null where nothing does
   */
  Sealer(Program.RelationProgram relation, CompiledAssembler derived, VaultLink vault) {
    this.vault = vault;
    this.deriving = derived == null ? null : new Assembler(derived);
    this.relation = relation.name().getBytes(StandardCharsets.UTF_8);
    sealed = relation.sealed();
    types = relation.columns().stream().map(Program.Slot::type).toArray(DataType[]::new);
    decodedTypes = types.clone();
    texts = new ValueText[sealed.columns().length];
    for (int each = 0; each < texts.length; each++) {
      decodedTypes[sealed.columns()[each]] = sealed.typeOf(each);
      texts[each] = sealed.isText(each) ? null : new ValueText(sealed.typeOf(each));
    }
    projection = UnsafeProjection.create(types);
    row = new UnsafeRow(types.length);
  }

  /** A decoded row with the columns that are derived from personal ones, all of it in clear. */
  Slice derived(Slice decoded) {
    if (deriving == null) {
      return decoded;
    }
    deriving.assemble(decoded, BinaryRow.point(row, decoded), Assembler.NO_INPUTS);
    failures += deriving.failures();
    return deriving.row();
  }

  /** How many expressions failed since the last call. */
  int takeFailures() {
    int failed = failures;
    failures = 0;
    return failed;
  }

  /** The name of whose values a row holds; null where it holds none, or does not say whose. */
  ByteBuffer subjectOf(Slice decoded) {
    BinaryRow.point(row, decoded);
    return isPersonal() && !row.isNullAt(sealed.subject()) ? ByteBuffer.wrap(name()) : null;
  }

  /** Why a row cannot be sealed, as a dead letter tells it; null where it can. */
  String refusal(Slice decoded) {
    BinaryRow.point(row, decoded);
    return isPersonal() && row.isNullAt(sealed.subject())
        ? "a personal value, and no subject whose it is"
        : null;
  }

  Sealed seal(Slice decoded, long[] absent) {
    BinaryRow.point(row, decoded);
    GenericInternalRow made = new GenericInternalRow(types.length);
    for (int i = 0; i < types.length; i++) {
      made.update(i, row.isNullAt(i) ? null : row.get(i, decodedTypes[i]));
    }
    VaultLink.Subject subject = isPersonal() ? vault.subject(name()) : null;
    for (int each = 0; each < sealed.columns().length; each++) {
      int column = sealed.columns()[each];
      byte[] clear =
          row.isNullAt(column) || isUnknown(each, absent) ? null : clear(each, column);
      if (clear == null) {
        made.update(column, null);
      } else {
        byte[] body = subject.isErased() ? NOTHING : subject.seal(clear);
        byte[] text = SealedText.of(subject.name(), body, sealed.isText(each));
        made.update(column, UTF8String.fromBytes(text));
      }
      if (sealed.indexes()[each] >= 0) {
        boolean joins = clear != null && !subject.isErased();
        made.update(
            sealed.indexes()[each], joins ? UTF8String.fromBytes(vault.indexOf(clear)) : null);
      }
      know(made, each, clear);
    }
    return new Sealed(BinaryRow.copy(projection.apply(made)), absentWithIndexes(absent));
  }

  /** The same of a row of a key alone: what is personal of it is known by its blind index. */
  Slice sealKey(Slice decoded) {
    BinaryRow.point(row, decoded);
    GenericInternalRow made = new GenericInternalRow(types.length);
    for (int i = 0; i < types.length; i++) {
      made.update(i, row.isNullAt(i) ? null : row.get(i, decodedTypes[i]));
    }
    for (int each = 0; each < sealed.columns().length; each++) {
      int column = sealed.columns()[each];
      made.update(column, null);
      if (sealed.indexes()[each] >= 0) {
        made.update(sealed.indexes()[each], null);
      }
      know(made, each, row.isNullAt(column) ? null : clear(each, column));
    }
    return BinaryRow.copy(projection.apply(made));
  }

  private void know(GenericInternalRow made, int each, byte[] clear) {
    if (sealed.knownBy(each) >= 0) {
      made.update(
          sealed.knownBy(each),
          clear == null ? null : UTF8String.fromBytes(vault.indexOf(clear)));
    }
  }

  /** A value as it is sealed: a text as it is, any other as JSON. */
  private byte[] clear(int each, int column) {
    return texts[each] == null
        ? row.getUTF8String(column).getBytes()
        : texts[each].of(row, column);
  }

  /** How many derived columns a change leaves unknown: it tells some of what they are of. */
  int unknown(long[] absent) {
    int unknown = 0;
    for (int each = 0; each < sealed.columns().length; each++) {
      unknown += isUnknown(each, absent) ? 1 : 0;
    }
    return unknown;
  }

  private boolean isUnknown(int each, long[] absent) {
    int left = leftOutOf(sealed.derivedFrom(each), absent);
    return left > 0 && left < sealed.derivedFrom(each).length;
  }

  private static int leftOutOf(int[] columns, long[] absent) {
    int left = 0;
    for (int column : columns) {
      left += absent != null && isLeft(absent, column) ? 1 : 0;
    }
    return left;
  }

  private static boolean isLeft(long[] absent, int column) {
    return (absent[column >> 6] >>> (column & 63) & 1) != 0;
  }

  /**
   * No record has an index or a derived column: one is left out where its column is, the other where
   * all are that it is derived from.
   */
  private long[] absentWithIndexes(long[] absent) {
    if (absent == null) {
      return null;
    }
    long[] told = absent.clone();
    for (int each = 0; each < sealed.columns().length; each++) {
      int column = sealed.columns()[each];
      int[] from = sealed.derivedFrom(each);
      boolean left =
          from.length == 0 ? isLeft(absent, column) : leftOutOf(from, absent) == from.length;
      leave(told, column, left);
      leave(told, sealed.indexes()[each], left);
      leave(told, sealed.knownBy(each), left);
    }
    return Arrays.stream(told).allMatch(each -> each == 0) ? null : told;
  }

  private static void leave(long[] absent, int column, boolean left) {
    if (column >= 0) {
      long bit = 1L << (column & 63);
      absent[column >> 6] = left ? absent[column >> 6] | bit : absent[column >> 6] & ~bit;
    }
  }

  private boolean isPersonal() {
    for (int column : sealed.columns()) {
      if (!row.isNullAt(column)) {
        return true;
      }
    }
    return false;
  }

  private byte[] name() {
    DataType type = decodedTypes[sealed.subject()];
    return vault.nameOf(
        relation,
        type instanceof StringType
            ? row.getUTF8String(sealed.subject()).getBytes()
            : row.get(sealed.subject(), type).toString().getBytes(StandardCharsets.US_ASCII));
  }
}
