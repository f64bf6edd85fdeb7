package dev.joinery.kernel.format;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StringType;

/** An image in a JSON text, and the readers for its values. */
final class JsonImage extends Image {
  private static final String UNAVAILABLE = RowBuilder.UNAVAILABLE;

  final JsonFields fields;
  private final JsonCursor json;
  private final JsonValues values;
  private final RowBuilder builder;
  private final byte[][] placeholders;

  /**
   * @param extra names that are not columns
   */
  JsonImage(JsonCursor json, RowBuilder builder, List<String> extra) {
    this(json, builder, new JsonFields(json, builder.namesAnd(extra)));
  }

  private JsonImage(JsonCursor json, RowBuilder builder, JsonFields fields) {
    super(json, fields.spans);
    this.json = json;
    this.builder = builder;
    this.fields = fields;
    values = new JsonValues(json, builder.unit);
    readers = readers(null);
    placeholders =
        Arrays.stream(builder.types).map(JsonImage::placeholder).toArray(byte[][]::new);
  }

  /** Returns the readers of all columns; {@code schema} is that of the struct they stand in. */
  ValueReader[] readers(JsonNode schema) {
    ValueReader[] made = new ValueReader[builder.types.length];
    for (int i = 0; i < made.length; i++) {
      JsonNode field = JsonValues.field(schema, builder.columns.get(i));
      made[i] = values.of(builder.types[i], field).reader();
    }
    return made;
  }

  /** Reads the object or the null at the cursor. */
  void scan() {
    int first = json.peek();
    if (first == '{') {
      fields.scan();
      there = true;
      return;
    }
    json.skipValue();
    there = false;
    if (first != 'n') {
      throw Rejected.undecodable("a row that is not an object");
    }
  }

  @Override
  boolean present(int column) {
    int from = spans.from[column];
    return from >= 0 && json.bytes[from] != 'n';
  }

  @Override
  void tell(int column, Target target) {
    spans.read(column, values.plain(target), null, 0);
  }

  @Override
  boolean unavailable(int column) {
    byte[] placeholder = placeholders[column];
    int from = spans.from[column];
    int to = spans.to[column];
    byte[] text = json.bytes;
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

  @Override
  List<String> undeclared() {
    return fields.names.unknown();
  }
}
