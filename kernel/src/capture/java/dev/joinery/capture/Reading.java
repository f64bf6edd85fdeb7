package dev.joinery.capture;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.connect.source.SourceRecord;

/**
 * Reads some tables whole while the log is followed, into files that stand aside until it is over.
 *
 * <p>Their rows have a place in the log from before the reading, after which every transaction began
 * that the reading does not see: so what such a one changes is newer than the rows.
 */
final class Reading implements AutoCloseable {
  private final Connector connector;
  private final Spool aside;
  private final Lines lines;
  private final Thread thread;
  private volatile boolean closing;
  private volatile boolean over;
  private volatile Throwable failure;

  /**
   * @param told one line of JSON: the connector's settings, and the place that rows get
   */
  Reading(String told, Path folder, int fileBytes) throws IOException {
    JsonNode request = new ObjectMapper().readTree(told);
    Map<String, String> settings = new TreeMap<>();
    request
        .required("connector")
        .properties()
        .forEach(each -> settings.put(each.getKey(), each.getValue().asText()));
    Spool.remove(folder);
    aside = new Spool(folder, fileBytes);
    lines = new Lines(settings, request.required("begun_at").asLong());
    connector = new Connector(settings, () -> null);
    thread = new Thread(this::run, "reading");
    thread.setDaemon(true);
    thread.start();
  }

  private void run() {
    try {
      while (!closing && !over) {
        for (SourceRecord each : connector.poll()) {
          Lines.Line line = lines.of(each);
          if (line != null) {
            aside.add(line.table(), line.json());
          }
          if (Lines.ends(each.sourceOffset())) {
            aside.write();
            over = true;
          }
        }
      }
    } catch (Throwable broken) { // Also out of memory: nobody else would tell.
      failure = broken;
    }
  }

  /** Returns whether all rows are in files. */
  boolean over() throws IOException {
    if (failure != null) {
      throw new IOException("tables could not be read beside the log", failure);
    }
    return over;
  }

  /** Returns the folder of the files, a folder a table. */
  Path files() {
    return aside.aside();
  }

  @Override
  public void close() throws InterruptedException {
    closing = true;
    connector.close();
    thread.join();
  }
}
