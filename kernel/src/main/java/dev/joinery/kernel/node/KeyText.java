package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.KeyCodec;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.render.ByteSink;
import dev.joinery.kernel.render.JsonWriter;
import java.nio.charset.StandardCharsets;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructType;

/** A key as the text of a map's entry: its column's text, or the JSON array of several. */
final class KeyText {
  private static final String OPENING = "{\"k\":";

  private final KeyCodec codec;
  private final DataType[] types;
  private final JsonWriter[] writers;

  KeyText(DataType[] types) {
    this.types = types;
    this.codec = KeyCodec.of(types);
    this.writers = new JsonWriter[types.length];
    for (int i = 0; i < types.length; i++) {
      writers[i] = new JsonWriter(new StructType().add("k", types[i]));
    }
  }

  String of(Slice key) {
    Object[] values = codec.decode(key);
    if (values.length == 1) {
      // Null is in the key of a product alone, whose groups may be of nothing.
      boolean plain = types[0] instanceof StringType && values[0] != null;
      return plain ? values[0].toString() : bare(json(0, values[0]));
    }
    StringBuilder text = new StringBuilder("[");
    for (int i = 0; i < values.length; i++) {
      text.append(i == 0 ? "" : ",").append(json(i, values[i]));
    }
    return text.append(']').toString();
  }

  private String json(int column, Object value) {
    ByteSink out = new ByteSink(256);
    writers[column].write(new GenericInternalRow(new Object[] {value}), out);
    String object = new String(out.array(), 0, out.size(), StandardCharsets.UTF_8);
    return object.substring(OPENING.length(), object.length() - 1);
  }

  private static String bare(String json) {
    return json.startsWith("\"") ? json.substring(1, json.length() - 1) : json;
  }
}
