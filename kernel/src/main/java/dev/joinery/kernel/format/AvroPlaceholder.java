package dev.joinery.kernel.format;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericDatumWriter;
import org.apache.avro.io.BinaryEncoder;
import org.apache.avro.io.EncoderFactory;

/** How Debezium writes an unavailable value of a schema, as Avro. */
final class AvroPlaceholder {
  private static final byte[] BYTES =
      RowBuilder.UNAVAILABLE.getBytes(StandardCharsets.UTF_8);

  private AvroPlaceholder() {}

  /** Returns the encoded placeholder, or null where there is none of this schema. */
  static byte[] of(Schema schema) {
    Object value = value(schema);
    if (value == null) {
      return null;
    }
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    BinaryEncoder encoder = EncoderFactory.get().directBinaryEncoder(out, null);
    try {
      new GenericDatumWriter<>(schema).write(value, encoder);
    } catch (IOException impossible) {
      throw new IllegalStateException(impossible);
    }
    return out.toByteArray();
  }

  private static Object value(Schema schema) {
    return switch (schema.getType()) {
      case STRING -> RowBuilder.UNAVAILABLE;
      case BYTES -> ByteBuffer.wrap(BYTES);
      case UNION ->
          schema.getTypes().stream()
              .filter(each -> each.getType() != Schema.Type.NULL)
              .findFirst()
              .map(AvroPlaceholder::value)
              .orElse(null);
      case ARRAY -> list(schema.getElementType());
      case MAP -> {
        Object value = value(schema.getValueType());
        yield value == null ? null : Map.of(RowBuilder.UNAVAILABLE, value);
      }
      default -> null;
    };
  }

  /** A list of texts holds the placeholder, a list of numbers its characters' codes. */
  private static List<?> list(Schema element) {
    return switch (type(element)) {
      case INT -> IntStream.range(0, BYTES.length).mapToObj(i -> (int) BYTES[i]).toList();
      case LONG -> IntStream.range(0, BYTES.length).mapToObj(i -> (long) BYTES[i]).toList();
      case STRING, BYTES -> List.of(value(element));
      default -> null;
    };
  }

  private static Schema.Type type(Schema schema) {
    return schema.getType() != Schema.Type.UNION
        ? schema.getType()
        : schema.getTypes().stream()
            .map(Schema::getType)
            .filter(each -> each != Schema.Type.NULL)
            .findFirst()
            .orElse(Schema.Type.NULL);
  }
}
