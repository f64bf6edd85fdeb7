package dev.joinery.kernel.format;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.Serializable;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.List;

/**
 * How a schema registry is reached.
 *
 * @param urls of the same registry; the next is tried where one does not answer
 * @param authorization the header's value, null where there is none; a secret
 * @param waitMillis how long an outage is waited for
 * @param idBytes the bytes of an id in a message
 */
record RegistryOptions(List<String> urls, String authorization, long waitMillis, int idBytes)
    implements Serializable {

  static RegistryOptions of(JsonNode node) {
    List<String> urls =
        List.of(node.path("url").asText().split("\\s*,\\s*")).stream()
            .map(each -> each.replaceFirst("/+$", ""))
            .toList();
    return new RegistryOptions(
        List.copyOf(urls),
        authorization(node),
        node.path("waitMillis").asLong(60_000),
        node.path("idBytes").asInt(4));
  }

  private static String authorization(JsonNode node) {
    if (node.hasNonNull("token")) {
      return "Bearer " + node.get("token").asText();
    }
    if (!node.hasNonNull("user")) {
      return null;
    }
    String both = node.get("user").asText() + ":" + node.path("password").asText();
    return "Basic " + Base64.getEncoder().encodeToString(both.getBytes(StandardCharsets.UTF_8));
  }

  String waitSeconds() {
    return BigDecimal.valueOf(waitMillis, 3).stripTrailingZeros().toPlainString();
  }

  /** Names the registry, without its secret. */
  @Override
  public String toString() {
    return "schema registry " + String.join(", ", urls);
  }
}
