package dev.joinery.capture;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * What a capture is told, as one line of JSON.
 *
 * @param spool the folder it writes to
 * @param connector the settings of Debezium's connector
 * @param flushMillis the least time between two files of a table
 * @param fileBytes a file is cut once it has so many
 * @param begunAt a place in PostgreSQL's log from before the slot was made, if it is made now
 * @param held tables whose changes stand aside until their rows are in place
 * @param silentMillis a log of which nothing is heard for longer is given up; 0 where that is usual
 * @param seal what seals the lines of tables with personal columns
 * @param follows whether somebody follows the files as they are written
 */
record Settings(
    Path spool,
    Map<String, String> connector,
    long flushMillis,
    int fileBytes,
    long begunAt,
    Set<String> held,
    long silentMillis,
    Seal seal,
    boolean follows) {
  static Settings of(String line) throws IOException {
    JsonNode told = new ObjectMapper().readTree(line);
    Map<String, String> connector = new TreeMap<>();
    told.required("connector")
        .properties()
        .forEach(each -> connector.put(each.getKey(), each.getValue().asText()));
    Set<String> held = new TreeSet<>();
    told.path("held").forEach(each -> held.add(each.asText()));
    return new Settings(
        Path.of(told.required("spool").asText()),
        connector,
        told.required("flush_ms").asLong(),
        told.required("file_bytes").asInt(),
        told.required("begun_at").asLong(),
        held,
        told.path("silent_ms").asLong(),
        new Seal(told.get("seal")),
        told.path("follows").asBoolean());
  }
}
