package dev.joinery.capture;

import java.io.IOException;
import java.nio.file.Path;
import org.apache.kafka.connect.source.SourceRecord;

/**
 * Reads a table whole while the log is followed, into files that stand aside until it is over.
 *
 * <p>Its rows have a place in the log from before the reading, after which every transaction began
 * that the reading does not see: so what such a one changes is newer than the rows.
 *
 * <p>Invariant: whatever fails is told, and leaves the log alone.
 */
final class Reading implements AutoCloseable {
  private static final String READ = "connector";

  private final Request request;
  private final Spool aside;
  private final Lines lines;
  private final Thread thread;
  private volatile boolean closing;
  private volatile boolean ended;
  private volatile Throwable failure;

  Reading(Request request, int fileBytes, Seal seal) throws IOException {
    this.request = request;
    Path folder = request.rows().resolve(READ);
    Spool.remove(folder);
    aside = new Spool(folder, fileBytes);
    lines = new Lines(request.connector(), request.begunAt(), 0, seal);
    thread = new Thread(this::run, "reading");
    thread.setDaemon(true);
    thread.start();
  }

  private void run() {
    try {
      read();
    } catch (Throwable broken) { // Also out of memory: nobody else would tell.
      broken.printStackTrace();
      failure = broken;
    }
    ended = true;
  }

  private void read() throws IOException, InterruptedException {
    try (Connector connector = new Connector(request.connector(), () -> null)) {
      boolean over = false;
      while (!closing && !over) {
        for (SourceRecord each : connector.poll()) {
          Lines.Line line = lines.of(each);
          if (line != null) {
            aside.add(line.table(), line.json());
          }
          over |= Lines.ends(each.sourceOffset());
        }
      }
      aside.write();
    }
  }

  /** Returns whether it is over, well or not. */
  boolean ended() {
    return ended;
  }

  /** Returns why it is over and the rows are not in files; null where they are. */
  Throwable failure() {
    return failure;
  }

  /** Returns where a connector's files of a table are among all that is read of it. */
  static Path files(String table, Path rows) {
    return Spool.aside(rows.resolve(READ)).resolve(table);
  }

  @Override
  public void close() throws InterruptedException {
    closing = true;
    thread.join();
  }
}
