package dev.joinery.kernel.format;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.MissingNode;
import java.io.IOException;

/** Flat rows as JSON. */
final class FlatJson implements RecordReader {
  private static final String DEBEZIUM =
      "this is a change event of Debezium; write format: debezium-json";

  private final FlatRow row;
  private final JsonCursor json = new JsonCursor();
  private final JsonImage image;

  FlatJson(RelationSpec spec) {
    RowBuilder builder = new RowBuilder(spec);
    row = new FlatRow(new Decoder(builder, new JsonKey(builder)), spec);
    image = new JsonImage(json, builder, FlatRow.extraNames(spec));
  }

  @Override
  public Decoder decoder() {
    return row.decoder;
  }

  @Override
  public void read(int relation, byte[] key, byte[] value, ChangeSink sink) {
    json.openObject(value);
    image.scan();
    json.finish();
    if (image.fields.known == 0 && isEvent(value)) {
      throw Rejected.wrongFormat(DEBEZIUM);
    }
    row.apply(relation, key, image, sink);
  }

  /**
   * Whether a JSON object is an event of Debezium: it has {@code op} and {@code source}, and {@code
   * before} or {@code after}, bare or as the payload beside a schema.
   */
  private static boolean isEvent(byte[] value) {
    JsonNode whole = parsed(value);
    JsonNode event = whole.path("payload").isObject() ? whole.get("payload") : whole;
    return event.path("op").isTextual()
        && event.path("source").isObject()
        && (event.has("before") || event.has("after"));
  }

  private static JsonNode parsed(byte[] value) {
    try {
      return new ObjectMapper().readTree(value);
    } catch (IOException notJackson) {
      return MissingNode.getInstance();
    }
  }
}
