package dev.joinery.kernel.format;

import java.util.List;
import org.apache.avro.Schema;

/** The key of a message in Avro; where it begins as no Avro message does, in JSON. */
final class AvroKey implements MessageKey {
  private final AvroMessage message;
  private final AvroImage image;
  private final JsonKey json;

  AvroKey(RowBuilder builder, Schemas schemas) {
    message = new AvroMessage(schemas);
    image = AvroImage.of(message.in, builder, List.of());
    json = new JsonKey(builder);
  }

  @Override
  public Image scan(byte[] key) {
    if (key == null || key.length == 0 || key[0] != 0) {
      return json.scan(key);
    }
    Schema schema = message.open(key);
    image.there = false;
    if (schema.getType() == Schema.Type.RECORD) {
      image.scan(schema);
      message.in.finish();
    }
    return image;
  }
}
