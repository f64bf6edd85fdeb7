package dev.joinery.kernel.format;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.util.Arrays;
import java.util.List;

/** The key of a message in JSON: an object with the columns, bare or with its schema. */
final class JsonKey implements MessageKey {
  private final JsonCursor json = new JsonCursor();
  private final int schema;
  private final int payload;
  private final boolean mayBeWrapped;
  private byte[] lastSchema = new byte[0];

  private final JsonImage image;
  private final ValueReader[] withoutSchema;
  private ValueReader[] withSchema;

  JsonKey(RowBuilder builder) {
    image = new JsonImage(json, builder, List.of("schema", "payload"));
    withoutSchema = image.readers;
    schema = builder.columns.size();
    payload = schema + 1;
    mayBeWrapped = !builder.columns.contains("schema") && !builder.columns.contains("payload");
  }

  @Override
  public Image scan(byte[] key) {
    image.there = false;
    image.fields.clear();
    if (key != null) {
      open(key);
    }
    return image;
  }

  private void open(byte[] key) {
    json.open(key, 0, key.length);
    if (json.peek() != '{') {
      return;
    }
    int invalid = Utf8.firstInvalid(key, 0, key.length);
    if (invalid >= 0) {
      throw Rejected.undecodable("the key is not UTF-8 at byte " + invalid);
    }
    image.readers = withoutSchema;
    image.scan();
    json.finish();
    if (mayBeWrapped && wrapped()) {
      unwrap(key);
    }
  }

  private boolean wrapped() {
    return image.fields.count == 2
        && !image.absent(schema)
        && !image.absent(payload)
        && json.bytes[image.spans.from[payload]] == '{';
  }

  private void unwrap(byte[] key) {
    Spans spans = image.spans;
    int from = spans.from[schema];
    int to = spans.to[schema];
    int body = spans.from[payload];
    if (!Arrays.equals(key, from, to, lastSchema, 0, lastSchema.length)) {
      withSchema = image.readers(parse(key, from, to));
      lastSchema = Arrays.copyOfRange(key, from, to);
    }
    image.readers = withSchema;
    json.at = body;
    image.scan();
  }

  /** Returns the schema at this span, null where it is JSON's null. */
  static JsonNode parse(byte[] text, int from, int to) {
    try {
      JsonNode schema = new ObjectMapper().readTree(text, from, to - from);
      return schema.isObject() ? schema : null;
    } catch (JsonProcessingException notJson) {
      throw Rejected.undecodable("a schema that is not JSON");
    } catch (IOException impossible) {
      throw new IllegalStateException(impossible);
    }
  }
}
