package dev.joinery.kernel.ingress;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.Serializable;

/**
 * Which column of a relation tells when its rows happened.
 *
 * @param column over the decoded columns, or where {@code derived} over those that products see
 */
public record Clock(int column, boolean derived) implements Serializable {
  /**
   * Reads the clocks of all relations.
   *
   * @param json a list with, for each relation, null or {@code {"column", "derived"}}
   * @return null for a relation that has none
   */
  public static Clock[] listOf(String json) {
    try {
      JsonNode list = new ObjectMapper().readTree(json);
      Clock[] clocks = new Clock[list.size()];
      for (int i = 0; i < clocks.length; i++) {
        JsonNode each = list.get(i);
        if (!each.isNull()) {
          clocks[i] = new Clock(each.path("column").asInt(), each.path("derived").asBoolean());
        }
      }
      return clocks;
    } catch (JsonProcessingException notJson) {
      throw new IllegalArgumentException("clocks are not JSON", notJson);
    }
  }
}
