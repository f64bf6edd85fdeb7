package dev.joinery.kernel.format;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StringType;

/**
 * Builds the UnsafeRow of one relation from scanned values; remembers which columns were absent.
 *
 * <p>The same values give the same bytes as Spark's own projections.
 */
final class RowBuilder {
  private static final String UNAVAILABLE = "__debezium_unavailable_value";

  final String relation;
  final List<String> columns;
  final int[] key;

  /** The absent columns of the last row, and whether there are any. */
  final long[] absent;

  boolean anyAbsent;

  /** How many placeholders of unavailable values became null in the last row. */
  int unavailable;

  private final DataType[] types;
  private final boolean[] inKey;
  private final byte[][] placeholders;
  private final Temporals.Unit unit;
  private final UnsafeRowWriter writer;

  RowBuilder(RelationSpec spec) {
    relation = spec.name();
    columns = spec.columns();
    unit = spec.unit();
    types = spec.types().stream().map(DataType::fromDDL).toArray(DataType[]::new);
    key = spec.key().stream().mapToInt(columns::indexOf).toArray();
    inKey = new boolean[types.length];
    Arrays.stream(key).forEach(each -> inKey[each] = true);
    placeholders = Arrays.stream(types).map(RowBuilder::placeholder).toArray(byte[][]::new);
    absent = new long[(types.length + 63) / 64];
    writer = new UnsafeRowWriter(types.length, 256);
  }

  /** How Debezium writes an unavailable value of this type, as JSON. */
  private static byte[] placeholder(DataType type) {
    byte[] text = UNAVAILABLE.getBytes(StandardCharsets.UTF_8);
    String quoted = '"' + UNAVAILABLE + '"';
    if (type.equals(DataTypes.BinaryType)) {
      quoted = '"' + Base64.getEncoder().encodeToString(text) + '"';
    } else if (type instanceof MapType) {
      quoted = "{" + quoted + ":" + quoted + "}";
    } else if (type instanceof ArrayType array && array.elementType() instanceof StringType) {
      quoted = "[" + quoted + "]";
    } else if (type instanceof ArrayType) {
      quoted =
          IntStream.range(0, text.length)
              .mapToObj(i -> String.valueOf(text[i]))
              .collect(Collectors.joining(",", "[", "]"));
    }
    return quoted.getBytes(StandardCharsets.UTF_8);
  }

  /** Returns the readers of all columns; {@code schema} is that of the struct they stand in. */
  ValueReader[] readers(JsonNode schema) {
    List<ValueReader> readers = new ArrayList<>();
    for (int i = 0; i < types.length; i++) {
      readers.add(Readers.of(types[i], Readers.field(schema, columns.get(i)), unit));
    }
    return readers.toArray(ValueReader[]::new);
  }

  byte[] bytes() {
    return writer.getBuffer();
  }

  int length() {
    return writer.totalSize();
  }

  long[] absentOrNull() {
    return anyAbsent ? absent : null;
  }

  /** Whether the key's columns stand there, none of them null. */
  boolean hasKey(Image image) {
    for (int column : key) {
      if (!image.spans.present(column, image.json) || unavailable(image, column)) {
        return false;
      }
    }
    return true;
  }

  /** Builds a row of the key alone. */
  void writeKey(Image image) {
    start();
    for (int i = 0; i < types.length; i++) {
      if (inKey[i]) {
        write(image, i);
      } else {
        image.readers[i].writeNull(writer, i);
      }
    }
  }

  /**
   * Builds a whole row.
   *
   * @param fallback has the key columns that {@code image} leaves out; null where it has them all
   * @param whole true where the image is all there is: what is missing is null, not absent
   */
  void writeRow(Image image, Image fallback, boolean whole) {
    start();
    int[] from = image.spans.from;
    for (int i = 0; i < types.length; i++) {
      if (from[i] >= 0) {
        writeAvailable(image, i, whole);
      } else if (inKey[i]) {
        write(fallback, i);
      } else {
        image.readers[i].writeNull(writer, i);
        if (!whole) {
          markAbsent(i);
        }
      }
    }
  }

  private void writeAvailable(Image image, int column, boolean whole) {
    if (!unavailable(image, column)) {
      write(image, column);
      return;
    }
    image.readers[column].writeNull(writer, column);
    if (whole) {
      unavailable++;
    } else {
      markAbsent(column);
    }
  }

  private void start() {
    writer.reset();
    writer.zeroOutNullBytes();
    unavailable = 0;
    if (anyAbsent) {
      Arrays.fill(absent, 0);
      anyAbsent = false;
    }
  }

  private void markAbsent(int column) {
    absent[column >> 6] |= 1L << column;
    anyAbsent = true;
  }

  private void write(Image image, int column) {
    Spans spans = image.spans;
    try {
      image.readers[column].readOrNull(
          image.json,
          spans.from[column],
          spans.to[column],
          spans.escaped[column],
          writer,
          column);
    } catch (Rejected rejected) {
      throw rejected.in(columns.get(column));
    }
  }

  /** Whether Debezium's placeholder stands there. */
  boolean unavailable(Image image, int column) {
    byte[] placeholder = placeholders[column];
    int from = image.spans.from[column];
    int to = image.spans.to[column];
    byte[] text = image.json.text;
    if (to - from == placeholder.length) {
      return Arrays.equals(text, from, to, placeholder, 0, placeholder.length);
    }
    return to - from == UNAVAILABLE.length() + 2 && text[from] == '"' && isText(text, from);
  }

  private static boolean isText(byte[] text, int from) {
    for (int i = 0; i < UNAVAILABLE.length(); i++) {
      if (text[from + 1 + i] != UNAVAILABLE.charAt(i)) {
        return false;
      }
    }
    return true;
  }
}
