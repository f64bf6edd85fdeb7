package dev.joinery.kernel.door;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.joinery.kernel.bytes.TypeText;
import dev.joinery.kernel.format.Format;
import dev.joinery.kernel.format.Formats;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.StringType;

/**
 * The columns of a relation by which its changes are sought, and hashes of their values. Equal
 * values have equal hashes; others nearly always different ones.
 */
final class SoughtColumns {
  /** The hash of no value. */
  private static final long NONE = 0;

  private static final VarHandle LONGS =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.nativeOrder());
  private static final VarHandle INTS =
      MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.nativeOrder());

  /** Whether updates and deletes of the relation's rows are ignored. */
  final boolean insertsOnly;

  private final JsonNode narrow;
  private final List<String> names = new ArrayList<>();
  private final boolean[] elsewhere;
  private final int[] wholeOrdinals;
  private final int wholeColumns;

  /**
   * @param narrow the relation as {@link Formats} takes it, with no column but these
   * @param whole the same with all its columns
   */
  SoughtColumns(JsonNode narrow, JsonNode whole, boolean insertsOnly) {
    this.insertsOnly = insertsOnly;
    this.narrow = narrow;
    List<String> all = new ArrayList<>();
    whole.get("columns").forEach(each -> all.add(each.get("name").asText()));
    narrow.get("columns").forEach(each -> names.add(each.get("name").asText()));
    wholeOrdinals = names.stream().mapToInt(all::indexOf).toArray();
    wholeColumns = all.size();
    elsewhere = new boolean[names.size()];
    for (int i = 0; i < elsewhere.length; i++) {
      elsewhere[i] = isElsewhere(typeOf(i));
    }
  }

  private DataType typeOf(int column) {
    return TypeText.read(narrow.get("columns").get(column).get("type").asText());
  }

  /** Whether a row has the value's bytes behind its columns. */
  private static boolean isElsewhere(DataType type) {
    return type instanceof StringType
        || type.equals(DataTypes.BinaryType)
        || (type instanceof DecimalType decimal && decimal.precision() > 18);
  }

  int size() {
    return names.size();
  }

  /** Adds the hash of each column of an UnsafeRow, which has all columns or only these. */
  void hash(byte[] row, boolean whole, Longs hashes) {
    int columns = whole ? wholeColumns : names.size();
    for (int i = 0; i < elsewhere.length; i++) {
      hashes.add(hash(row, whole ? wholeOrdinals[i] : i, columns, elsewhere[i]));
    }
  }

  private static long hash(byte[] row, int ordinal, int columns, boolean elsewhere) {
    long nulls = (long) LONGS.get(row, (ordinal >> 6) << 3);
    if ((nulls >>> (ordinal & 63) & 1) != 0) {
      return NONE;
    }
    long word = (long) LONGS.get(row, ((columns + 63) >> 6 << 3) + (ordinal << 3));
    long found = elsewhere ? hash(row, (int) (word >>> 32), (int) word) : mixed(word);
    return found == NONE ? 1 : found;
  }

  private static long hash(byte[] row, int from, int length) {
    long hash = mixed(length);
    int at = from;
    int end = from + length;
    for (; at + 8 <= end; at += 8) {
      hash = mixed(hash ^ (long) LONGS.get(row, at));
    }
    if (at + 4 <= end) {
      hash = mixed(hash ^ (int) INTS.get(row, at));
      at += 4;
    }
    for (; at < end; at++) {
      hash = mixed(hash ^ row[at]);
    }
    return hash;
  }

  private static long mixed(long word) {
    long mixed = (word + 0x9E3779B97F4A7C15L) * 0xBF58476D1CE4E5B9L;
    return mixed ^ mixed >>> 32;
  }

  /** Where columns of these names stand. */
  int[] ordinals(List<String> columns) {
    return columns.stream().mapToInt(names::indexOf).toArray();
  }

  /** The hash of some columns of a change together; {@link #NONE} where one of them has no value. */
  long together(Longs hashes, int change, int[] ordinals) {
    long hash = NONE;
    for (int each : ordinals) {
      long value = hashes.get(change * names.size() + each);
      if (value == NONE) {
        return NONE;
      }
      hash = hash == NONE ? value : next(hash, value);
    }
    return hash;
  }

  private static long next(long hash, long value) {
    long both = mixed(hash * 31 + value);
    return both == NONE ? 1 : both;
  }

  /** Whether there is a hash. */
  static boolean isSome(long hash) {
    return hash != NONE;
  }

  /**
   * Returns the hashes of values that are asked for, as {@link #together} has them; none of values
   * that no row can have.
   *
   * @param columns their names, in an order
   * @param rows an object of them each, in JSON
   */
  long[] asked(List<String> columns, List<byte[]> rows) {
    ObjectNode flat = narrow.deepCopy();
    flat.put("format", "json").putNull("position").putNull("logged");
    flat.putArray("key");
    flat.putArray("told");
    flat.putArray("columns");
    for (String name : columns) {
      flat.withArray("columns").add(narrow.get("columns").get(names.indexOf(name)));
    }
    SoughtColumns alone = new SoughtColumns(flat, flat, false);
    Format format = Formats.of(new ObjectMapper().createArrayNode().add(flat).toString())[0];
    ChangeIndex index = new ChangeIndex(new SoughtColumns[] {alone});
    int number = 0;
    for (byte[] row : rows) {
      index.take(0, number++, format, format, null, row);
    }
    ChangeIndex.OfRelation found = index.relations[0];
    int[] ordinals = alone.ordinals(columns);
    long[] hashes = new long[found.size()];
    for (int i = 0; i < hashes.length; i++) {
      hashes[i] = alone.together(found.hashes, i, ordinals);
    }
    return hashes;
  }
}
