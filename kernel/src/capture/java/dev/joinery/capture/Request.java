package dev.joinery.capture;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;

/**
 * A table whose rows are to be read, or to be put in place, as one line of JSON.
 *
 * @param table as schema.table
 * @param rows the folder of what is read of it
 * @param connector the settings of the connector that is to read it; null where it was read
 * @param begunAt the place in the log that rows get which the connector reads
 */
record Request(String table, Path rows, Map<String, String> connector, long begunAt) {
  static Request of(String line) throws IOException {
    JsonNode told = new ObjectMapper().readTree(line);
    String table = told.required("table").asText();
    Path rows = Path.of(told.required("rows").asText());
    if (!told.has("connector")) {
      return new Request(table, rows, null, 0);
    }
    Map<String, String> connector = new TreeMap<>();
    told.get("connector")
        .properties()
        .forEach(each -> connector.put(each.getKey(), each.getValue().asText()));
    return new Request(table, rows, connector, told.required("begun_at").asLong());
  }
}
