package dev.joinery.capture;

import java.io.OutputStream;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.List;

/**
 * The log of a connector, which remembers the statements that it was told of in place of rows.
 *
 * <p>A session that writes statements into a binary log, whatever the server's own format is, has the
 * connector pass over what it changes: it tells of that in its log alone, and before the rows that
 * follow. Of a statement that it does not take for one that changes rows, the {@link History} has a
 * note. Which database the session was in, the connector does not tell; a file that was loaded is in
 * the log as an event that it does not know.
 */
final class Statements extends PrintStream {
  private static final String BEFORE = "Received DML '";
  private static final String AFTER = "' for processing";

  private final List<String> passedOver = new ArrayList<>();

  Statements(OutputStream log) {
    super(log, true);
  }

  @Override
  public void println(String line) {
    super.println(line);
    int begin = line == null ? -1 : line.indexOf(BEFORE);
    int end = begin < 0 ? -1 : line.lastIndexOf(AFTER);
    if (end > begin) {
      synchronized (passedOver) {
        passedOver.add(line.substring(begin + BEFORE.length(), end));
      }
    }
  }

  /** Returns what was passed over since this was asked last. */
  List<String> passedOver() {
    synchronized (passedOver) {
      List<String> found = List.copyOf(passedOver);
      passedOver.clear();
      return found;
    }
  }
}
