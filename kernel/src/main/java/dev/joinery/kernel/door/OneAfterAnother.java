package dev.joinery.kernel.door;

import java.io.Closeable;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.Queue;
import org.apache.spark.sql.Row;

/**
 * The records of several readers, which others may take from the same queue. Each is read when it is
 * asked for, since all of them may be more than memory holds.
 */
final class OneAfterAnother implements Iterator<Row> {
  private final Queue<Reader> readers;
  private Reader reader;
  private Row next;

  /** Takes readers, each of which is opened by its first record and closed after its last. */
  OneAfterAnother(Queue<Reader> readers) {
    this.readers = readers;
  }

  @Override
  public boolean hasNext() {
    try {
      while (next == null && (reader != null || (reader = readers.poll()) != null)) {
        next = reader.read();
        if (next == null) {
          reader.close();
          reader = null;
        }
      }
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
    return next != null;
  }

  @Override
  public Row next() {
    if (!hasNext()) {
      throw new NoSuchElementException();
    }
    Row taken = next;
    next = null;
    return taken;
  }

  /** Reads the records of one place. */
  interface Reader extends Closeable {
    /** Returns the next record; null after the last. */
    Row read() throws IOException;
  }
}
