package dev.joinery.kernel.format;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.MissingNode;
import java.io.IOException;

/** Tells a change event of Debezium from a row; remembers nothing. */
final class EnvelopeCheck {
  private EnvelopeCheck() {}

  /**
   * Whether a JSON object is an event: it has {@code op} and {@code source}, and {@code before} or
   * {@code after}, bare or as the payload beside a schema.
   */
  static boolean holds(byte[] value) {
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
