package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.BinaryRow;
import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.KeyCodec;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.Counters;
import dev.joinery.kernel.message.Marks;
import dev.joinery.kernel.program.PatternProgram;
import dev.joinery.kernel.program.PatternProgram.RuleUse;
import dev.joinery.kernel.state.EntryMap;
import dev.joinery.kernel.state.State;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.LongPredicate;
import java.util.function.UnaryOperator;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructField;

/**
 * What the rows of a pattern see beside their columns: makes of a row as it comes, and of the rows
 * of other relations that it sees, what conditions are tested on.
 */
final class PatternRules {
  private final PatternProgram program;
  private final Assembler assembler;
  private final KeyCodec[] codecs;
  private final int[] widths;
  private final KeyCodec key;
  private final Counters counters;
  private final int columns;
  private final int made;

  /** {@code program} has rules. */
  PatternRules(PatternProgram program, NodeContext context) {
    StructField[] comes = context.program().assemblers().get(program.input()).type().fields();
    int ruled = program.rules().assembler();
    this.program = program;
    this.assembler = context.assembler(ruled);
    this.codecs = codecs(program, comes);
    this.key =
        new KeyCodec(
            Arrays.stream(program.key())
                .mapToObj(each -> column(each, comes[each].dataType()))
                .toList());
    this.counters = context.counters();
    this.columns = comes.length;
    this.made = context.program().assemblers().get(ruled).type().length();
    this.widths =
        context.program().assemblers().get(ruled).inputs().stream()
            .mapToInt(each -> ((org.apache.spark.sql.types.StructType) each.type()).length())
            .toArray();
  }

  private static KeyCodec.Column column(int ordinal, DataType type) {
    return new KeyCodec.Column(ordinal, type, type, false);
  }

  /** Where a row finds what it sees, by rule. */
  static KeyCodec[] codecs(PatternProgram program, StructField[] comes) {
    return program.rules().uses().stream()
        .map(each -> codec(each, comes))
        .toArray(KeyCodec[]::new);
  }

  private static KeyCodec codec(RuleUse use, StructField[] comes) {
    List<KeyCodec.Column> on = new ArrayList<>();
    for (int i = 0; i < use.on().ordinals().length; i++) {
      int ordinal = use.on().ordinals()[i];
      DataType as = use.on().types()[i];
      on.add(new KeyCodec.Column(ordinal, comes[ordinal].dataType(), as, false));
    }
    return new KeyCodec(on);
  }

  private static Slice entryOf(int place, Slice value) {
    return Slice.of(new ByteWriter(value.length() + 4).writeVarInt(place).writeRaw(value).toBytes());
  }

  /** The rules of one key: by place and value, the time of the last row that sees one, and it. */
  final class Known {
    private final EntryMap rules;

    /** What was known at the begin of the batch under the entries that it told of; empty for none. */
    private final Map<Slice, Slice> before = new HashMap<>();

    /** By key, the rows that it told of as they were before it; empty for none. */
    private final Map<Slice, Slice> rowsBefore = new HashMap<>();

    Known(ByteReader in, State state, int space) {
      rules = EntryMap.read(in, state, space);
    }

    void write(ByteWriter out) {
      rules.write(out);
    }

    boolean isEmpty() {
      return rules.size() == 0;
    }

    /** Forgets all that a row saw; in real-time mode a rule may be told before the row comes. */
    void forgetSeen() {
      forget(seen -> seen != Marks.UNKNOWN);
    }

    /** Takes what a Rule tells; returns whether rows that were kept before see another now. */
    boolean hear(ByteReader told) {
      boolean exists = told.readByte() != 0;
      Slice entry = told.readBlob();
      Slice row = told.rest();
      Slice old = rules.get(entry);
      ByteReader in = old == null ? null : new ByteReader(old);
      long latest = in == null ? Marks.UNKNOWN : in.readLong();
      if (in != null && (in.readByte() != 0) == exists && in.rest().equals(row)) {
        return false;
      }
      put(entry, latest, exists, row);
      return old != null;
    }

    private void put(Slice entry, long latest, boolean exists, Slice row) {
      Slice old = rules.get(entry);
      before.putIfAbsent(entry, old == null ? Slice.EMPTY : old.detach());
      ByteWriter out = new ByteWriter(row.length() + 9).writeLong(latest);
      rules.put(entry, Slice.of(out.writeByte(exists ? 1 : 0).writeRaw(row).toBytes()));
    }

    /**
     * Notes that a row is kept from now on. Where its rule was not told yet, as may be in real-time
     * mode, it sees none until then.
     */
    void note(Slice kept) {
      long time = program.time() < 0 ? 0 : row(kept).getLong(program.time());
      for (Slice entry : seenBy(kept)) {
        Slice known = rules.get(entry);
        if (known == null) {
          put(entry, time, false, Slice.EMPTY);
          continue;
        }
        ByteReader in = new ByteReader(known);
        if (in.readLong() < time) {
          put(entry, time, in.readByte() != 0, in.rest());
        }
      }
    }

    /** Forgets what no row sees whose time is not below one. */
    void forgetBelow(long time) {
      forget(seen -> seen < time);
    }

    private void forget(LongPredicate lastSeenAt) {
      List<Slice> over = new ArrayList<>();
      for (Iterator<EntryMap.Entry> all = rules.iterator(); all.hasNext(); ) {
        EntryMap.Entry each = all.next();
        if (lastSeenAt.test(new ByteReader(each.value()).readLong())) {
          over.add(each.key().detach());
        }
      }
      over.forEach(rules::remove);
    }

    /** Whether a row sees one of some entries. */
    boolean sees(Slice kept, Set<Slice> entries) {
      return !Collections.disjoint(seenBy(kept), entries);
    }

    private List<Slice> seenBy(Slice kept) {
      UnsafeRow row = row(kept);
      List<Slice> entries = new ArrayList<>(codecs.length);
      for (int i = 0; i < codecs.length; i++) {
        if (!codecs[i].anyNull(row)) {
          entries.add(entryOf(i, Slice.of(codecs[i].encode(row))));
        }
      }
      return entries;
    }

    /** Notes that a batch tells of a row, which was {@code old}; null where it was not there. */
    void noteOld(Slice old, Slice told) {
      Slice code = Slice.of(key.encode(row(old == null ? told : old)));
      if (old != null) {
        // A row that moves comes to one place and goes from another, in any order.
        rowsBefore.merge(code, old.detach(), (known, was) -> known.isEmpty() ? was : known);
      } else {
        rowsBefore.putIfAbsent(code, Slice.EMPTY);
      }
    }

    /** A row as conditions see it. */
    UnsafeRow ruled(Slice kept) {
      assemble(kept, rules::get);
      return BinaryRow.of(assembler.row(), made);
    }

    private void assemble(Slice kept, UnaryOperator<Slice> known) {
      UnsafeRow row = row(kept);
      Object[] inputs = new Object[codecs.length];
      for (int i = 0; i < inputs.length; i++) {
        boolean none = codecs[i].anyNull(row);
        Slice found = none ? null : known.apply(entryOf(i, Slice.of(codecs[i].encode(row))));
        inputs[i] = found == null ? null : seen(new ByteReader(found), widths[i]);
      }
      assembler.assemble(kept, row, inputs);
    }

    /** Counts the expressions that begin to fail over the row that was made last, of {@code kept}. */
    void countFailures(Slice kept, String product) {
      int failures = assembler.failures();
      if (failures > 0) {
        counters.productFailures(product, failuresBefore(kept), failures);
      }
    }

    private int failuresBefore(Slice kept) {
      Slice old = rowsBefore.getOrDefault(Slice.of(key.encode(row(kept))), kept);
      if (old.isEmpty()) {
        return 0;
      }
      assemble(old, this::before);
      return assembler.failures();
    }

    private Slice before(Slice entry) {
      Slice known = before.get(entry);
      return known == null ? rules.get(entry) : known.isEmpty() ? null : known;
    }

    private static UnsafeRow seen(ByteReader known, int width) {
      known.readLong();
      return known.readByte() == 0 ? null : BinaryRow.of(known.rest(), width);
    }
  }

  private UnsafeRow row(Slice kept) {
    return BinaryRow.of(kept, columns);
  }
}
