package dev.joinery.kernel.render;

import java.nio.charset.StandardCharsets;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructType;

/**
 * Writes rows of one type as compact JSON (RFC 8259, UTF-8); keeps a writer for each field.
 *
 * <p>Null fields are written. Timestamps are ISO 8601 in UTC, longs and decimals exact, doubles
 * the shortest text that reads back the same, NaN and the infinities text, bytes base64, maps
 * objects in the order in which they are stored. One instance is used by one thread.
 */
public final class JsonWriter {
  private final ValueWriter.Struct root;

  /** Prepares for rows of {@code type}; refuses a type that has no JSON. */
  public JsonWriter(StructType type) {
    root = new ValueWriter.Struct(type);
  }

  /** Appends the object that {@code row} is; null where there is no row. */
  public void write(InternalRow row, ByteSink out) {
    if (row == null) {
      out.append(ValueWriter.NULL);
    } else {
      root.fields(row, out);
    }
  }

  /** Appends {@code text} as a JSON string. */
  public static void writeText(String text, ByteSink out) {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    JsonText.append(bytes, 0, bytes.length, out);
  }
}
