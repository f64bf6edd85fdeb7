package dev.joinery.kernel.ingress;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.Serializable;

/**
 * Which column of a relation tells when its rows happened.
 *
 * @param column over the decoded columns, or where {@code derived} over those that products see
 * @param ahead how far above the log's own time a time may be that moves a watermark; {@link
 *     #UNBOUNDED} for as far as it is
 * @param device the clocks that the time was made of; null where a column tells it alone
 */
public record Clock(int column, boolean derived, long ahead, Device device)
    implements Serializable {
  static final long UNBOUNDED = -1;

  /**
   * The clock of a device and the one of what received its events: columns that products see.
   *
   * @param flag whether the clocks are believed
   * @param refuses whether an event whose clocks are not is a dead letter
   */
  public record Device(int flag, int event, int sent, int received, boolean refuses)
      implements Serializable {
    static Device of(JsonNode json) {
      return new Device(
          json.path("flag").asInt(),
          json.path("event").asInt(),
          json.path("sent").asInt(),
          json.path("received").asInt(),
          json.path("refuses").asBoolean());
    }
  }

  /**
   * Reads the clocks of all relations.
   *
   * @param json a list with, for each relation, null or {@code {"column", "derived",
   *     "ahead"}}, with {@code "device"} where it has one
   * @return null for a relation that has none
   */
  public static Clock[] listOf(String json) {
    try {
      JsonNode list = new ObjectMapper().readTree(json);
      Clock[] clocks = new Clock[list.size()];
      for (int i = 0; i < clocks.length; i++) {
        JsonNode each = list.get(i);
        if (!each.isNull()) {
          Device device = each.has("device") ? Device.of(each.path("device")) : null;
          clocks[i] =
              new Clock(
                  each.path("column").asInt(),
                  each.path("derived").asBoolean(),
                  each.path("ahead").asLong(UNBOUNDED),
                  device);
        }
      }
      return clocks;
    } catch (JsonProcessingException notJson) {
      throw new IllegalArgumentException("clocks are not JSON", notJson);
    }
  }
}
