package dev.joinery.capture;

import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.util.Map;
import java.util.TreeMap;

/**
 * How far a database's log is in the spool.
 *
 * <p>In a binary log the place counts the events that came of the transaction at hand.
 *
 * @param partition what the connector calls the log
 * @param offset where the connector goes on
 * @param file the number of the last file
 * @param lsn the place in the log up to which all is in the spool; 0 where not told
 * @param rows the place of the last row of a binary log that is in the spool; 0 elsewhere
 * @param last by table, the number of the last file in its place
 */
record Position(
    Map<String, ?> partition,
    Map<String, ?> offset,
    long file,
    long lsn,
    long rows,
    Map<String, Long> last) {
  private static final int FORMAT = 1;
  // The connector casts what it told as a long.
  private static final ObjectMapper JSON =
      new ObjectMapper().enable(DeserializationFeature.USE_LONG_FOR_INTS);
  private static final TypeReference<Map<String, Object>> MAP = new TypeReference<>() {};
  private static final TypeReference<Map<String, Long>> NUMBERS = new TypeReference<>() {};

  /** Returns the position at the end of a transaction, without what was counted of that. */
  static Position after(
      Map<String, ?> partition,
      Map<String, ?> offset,
      long file,
      long rows,
      Map<String, Long> last) {
    Map<String, Object> kept = new TreeMap<>(offset);
    kept.keySet().removeIf(each -> each.startsWith("transaction_"));
    // A transaction of a binary log is read again whole, and counts its rows as before.
    kept.remove("event");
    kept.remove("row");
    return new Position(Map.copyOf(partition), kept, file, lsn(offset), rows, last);
  }

  static Position of(byte[] json) throws IOException {
    JsonNode told = JSON.readTree(json);
    if (told.path("format").asInt() != FORMAT) {
      throw new IOException("position.json was written by another version of Joinery");
    }
    return new Position(
        JSON.convertValue(told.required("partition"), MAP),
        JSON.convertValue(told.required("offset"), MAP),
        told.required("file").asLong(),
        told.required("lsn").asLong(),
        told.path("rows").asLong(),
        told.has("last") ? JSON.convertValue(told.get("last"), NUMBERS) : Map.of());
  }

  byte[] json() throws IOException {
    ObjectNode told = JSON.createObjectNode().put("format", FORMAT).put("lsn", lsn);
    told.put("rows", rows);
    told.put("file", file).put("written_at_ms", System.currentTimeMillis());
    told.set("partition", JSON.valueToTree(partition));
    told.set("offset", JSON.valueToTree(offset));
    told.set("last", JSON.valueToTree(last));
    return JSON.writeValueAsBytes(told);
  }

  private static long lsn(Map<String, ?> offset) {
    if (offset.containsKey("pos")) {
      long events = offset.get("event") instanceof Number told ? told.longValue() : 0;
      return Binlog.place(offset.get("file"), offset.get("pos")) + events;
    }
    return offset.get("lsn") instanceof Number told ? told.longValue() : 0;
  }
}
