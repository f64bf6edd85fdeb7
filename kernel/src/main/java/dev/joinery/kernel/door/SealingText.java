package dev.joinery.kernel.door;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.joinery.kernel.format.Formats;
import dev.joinery.kernel.ingress.Sealing;
import dev.joinery.kernel.ingress.VaultAddress;

/**
 * Reads how personal columns are sealed: {@code {"port", "token", "erasures": the first number of a
 * topic of erasures, "formats": what {@link Formats#of} reads of them, "spools": by topic, whether a
 * capture may have sealed its lines}}.
 */
final class SealingText {
  private SealingText() {}

  /** The sealing that a text tells; null where it is empty. */
  static Sealing read(String text) {
    if (text.isEmpty()) {
      return null;
    }
    try {
      ObjectMapper json = new ObjectMapper();
      JsonNode told = json.readTree(text);
      return new Sealing(
          new VaultAddress(told.get("port").asInt(), told.get("token").asText()),
          told.get("erasures").asInt(),
          Formats.of(told.get("formats").toString()),
          json.convertValue(told.get("spools"), boolean[].class));
    } catch (JsonProcessingException notJson) {
      throw new IllegalArgumentException("not the address of a vault");
    }
  }
}
