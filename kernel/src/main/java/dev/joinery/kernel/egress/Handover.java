package dev.joinery.kernel.egress;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.spark.sql.ForeachWriter;
import org.apache.spark.sql.Row;

/**
 * What tasks of real time hand to the driver of a local session, which writes it to the sinks of
 * products: documents, each key once at a time, and dead letters.
 *
 * <p>A task that has more than may wait does so, too; and at its end it waits until all that it has
 * handed over is written.
 *
 * <p>Invariant: a root is on the disk, in the file of what its interval sent, before the driver is
 * given its document; and what an interval sent is written before Spark commits the interval.
 */
public final class Handover implements AutoCloseable {
  /** What stands in place of a product's name where a row is a dead letter. */
  public static final String LETTERS = "";

  /** A file that no product's is named like. */
  static final String LETTERS_FILE = ".letters.jsonl";

  private static final long MOST_BYTES = 32 << 20;
  private static final AtomicLong NUMBERS = new AtomicLong();
  private static final Map<Long, Handover> OPEN = new ConcurrentHashMap<>();
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final byte[] NULL = utf8("null");

  private record Given(long interval, String product, byte[] key, byte[] value, byte[] version) {
    long bytes() {
      return 64L + key.length + (value == null ? 0 : value.length);
    }
  }

  private final long number = NUMBERS.incrementAndGet();
  private final SentRoots sent;
  private final Deque<Given> waiting = new ArrayDeque<>();
  private long bytes;
  private long given;
  private long taken;
  private long written;
  private boolean closed;

  /** {@code checkpoint}: a folder on this disk, that of the query. */
  public Handover(String checkpoint) {
    sent = new SentRoots(Path.of(checkpoint));
    OPEN.put(number, this);
  }

  /** Returns what a task gives its rows to: product, key, value, and last the version. */
  public ForeachWriter<Row> writer() {
    return new Giving(number);
  }

  /**
   * Waits for rows, then writes those that are there below {@code folder}: {@code
   * <product>.jsonl}, as sinks are given documents, and {@code .letters.jsonl}.
   *
   * @return {@code {"interval": number, "products": {name: documents}, "letters": count}}; empty
   *     where none came in time
   */
  public String take(String folder, long waitMillis) throws IOException, InterruptedException {
    List<Given> rows = rows(waitMillis);
    if (rows.isEmpty()) {
      return "";
    }
    Map<String, Map<ByteBuffer, Given>> newest = new LinkedHashMap<>();
    List<Given> letters = new ArrayList<>();
    for (Given each : rows) {
      if (each.product.equals(LETTERS)) {
        letters.add(each);
      } else {
        newest
            .computeIfAbsent(each.product, product -> new LinkedHashMap<>())
            .put(ByteBuffer.wrap(each.key), each);
      }
    }
    long interval = rows.get(0).interval;
    ObjectNode told = JSON.createObjectNode().put("interval", interval);
    ObjectNode products = told.putObject("products");
    for (Map.Entry<String, Map<ByteBuffer, Given>> each : newest.entrySet()) {
      for (Given row : each.getValue().values()) {
        sent.add(each.getKey(), row.key, row.version);
      }
    }
    sent.keep(interval);
    for (Map.Entry<String, Map<ByteBuffer, Given>> each : newest.entrySet()) {
      write(Path.of(folder, each.getKey() + ".jsonl"), each.getValue().values());
      products.put(each.getKey(), each.getValue().size());
    }
    told.put("letters", letters.size());
    if (!letters.isEmpty()) {
      try (OutputStream out = Files.newOutputStream(Path.of(folder, LETTERS_FILE))) {
        for (Given each : letters) {
          out.write(each.value);
          out.write('\n');
        }
      }
    }
    return told.toString();
  }

  /** All that wait, of one interval: another one begins once all of the one before is written. */
  private synchronized List<Given> rows(long waitMillis) throws InterruptedException {
    long until = System.nanoTime() + waitMillis * 1_000_000;
    while (waiting.isEmpty() && !closed) {
      long restMillis = (until - System.nanoTime()) / 1_000_000;
      if (restMillis <= 0) {
        break;
      }
      wait(restMillis);
    }
    List<Given> rows = new ArrayList<>(waiting);
    waiting.clear();
    bytes = 0;
    taken = given;
    notifyAll();
    return rows;
  }

  private static void write(Path file, Iterable<Given> rows) throws IOException {
    try (OutputStream out = new BufferedOutputStream(Files.newOutputStream(file), 1 << 16)) {
      for (Given each : rows) {
        out.write(utf8("{\"key\":"));
        out.write(each.key);
        out.write(utf8(",\"value\":"));
        out.write(each.value == null ? NULL : each.value);
        out.write(utf8(",\"version\":"));
        out.write(each.version);
        out.write(utf8("}\n"));
      }
    }
  }

  /** What was taken last is written. */
  public synchronized void done() {
    written = taken;
    notifyAll();
  }

  /** Takes nothing more; a task that waits for what it gave to be written fails. */
  @Override
  public synchronized void close() throws IOException {
    OPEN.remove(number);
    closed = true;
    notifyAll();
    sent.close();
  }

  private synchronized long give(Given row) throws InterruptedException {
    while (bytes > MOST_BYTES && !closed) {
      wait();
    }
    check();
    waiting.add(row);
    bytes += row.bytes();
    notifyAll();
    return ++given;
  }

  private synchronized void awaitWritten(long upTo) throws InterruptedException {
    while (written < upTo && !closed) {
      wait();
    }
    check();
  }

  private void check() {
    if (closed) {
      throw new IllegalStateException("nobody takes what is handed over any more");
    }
  }

  private static byte[] utf8(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  /** Of one task; knows how far it has come. */
  private static final class Giving extends ForeachWriter<Row> {
    private final long number;
    private transient Handover to;
    private transient long interval;
    private transient long last;

    Giving(long number) {
      this.number = number;
    }

    @Override
    public boolean open(long partition, long batch) {
      to = OPEN.get(number);
      if (to == null) {
        throw new IllegalStateException("nobody takes what is handed over");
      }
      interval = batch;
      last = 0;
      return true;
    }

    @Override
    public void process(Row row) {
      byte[] version = row.<byte[]>getAs(4);
      Given told =
          new Given(interval, row.getString(0), row.getAs(1), row.getAs(2), version);
      try {
        last = to.give(told);
      } catch (InterruptedException stopped) {
        throw interrupted(stopped);
      }
    }

    @Override
    public void close(Throwable failure) {
      if (failure == null && to != null) {
        try {
          to.awaitWritten(last);
        } catch (InterruptedException stopped) {
          throw interrupted(stopped);
        }
      }
    }

    private static RuntimeException interrupted(InterruptedException stopped) {
      Thread.currentThread().interrupt();
      return new UncheckedIOException(
          new InterruptedIOException("interrupted while handing documents over"));
    }
  }
}
