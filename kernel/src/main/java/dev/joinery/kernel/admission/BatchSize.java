package dev.joinery.kernel.admission;

import java.util.Locale;
import java.util.Map;
import java.util.function.LongSupplier;

/**
 * Chooses how much the next batch of a source takes. Remembers how long the last full batch took,
 * and how large its rows were.
 *
 * <p>While there is more than a batch takes, batches grow until they last as long as they should;
 * with what memory holds as their bound. Where there is less, a batch takes what there is. A first
 * batch is small: its rows also warm the code up, and its documents come early.
 *
 * <p>Where nobody waits for what a batch sends, only memory bounds it, but for a first one that
 * warms the code up.
 *
 * <p>Clocks decide only how batches are cut. Spark logs the cut before it runs, so a batch that
 * runs again is the same.
 */
public final class BatchSize {
  /** How long a batch should last: longer ones would send few documents less. */
  static final long TARGET_MS = 20_000;

  static final long FIRST_ROWS = 100_000;
  static final long LEAST_ROWS = 1_000;
  static final long WARMING_ROWS = 20_000;

  /** Smaller batches cost more than they save where a machine is only slow. */
  static final long LEAST_PACE = 200_000;

  /** How many times as large the next batch may be; it is a quarter at least. */
  static final long GROWTH = 8;

  /** What the messages of a row take in memory, however small the row: about twice as much. */
  static final long ROW_BYTES = 512;

  private static final long LEAST_BYTES = 16 << 20;

  /** A batch that is so full met its bound: rows, and what each partition gives, are whole. */
  private static final double NEARLY = 0.9;

  /** What one batch takes at most. */
  public record Limit(long rows, long bytes) {}

  /** Why a batch is no larger. */
  public enum Bound {
    /** The project says so. */
    SETTING,
    /** Longer batches would take too long. */
    TIME,
    /** Memory holds no more. */
    MEMORY,
    /** There is no more to read. */
    BACKLOG
  }

  private final BatchOptions options;
  private final LongSupplier memory;
  private final LongSupplier millis;
  private long pace;
  private double meanBytes;
  private long began;

  /** The rows of a full batch whose end was not seen yet; 0 for none. */
  private long underWay;

  private Limit limit = new Limit(0, 0);
  private long memoryRows;
  private Bound bound = Bound.BACKLOG;

  /**
   * @param memory tells the bytes that Spark's tasks share
   * @param millis a clock that only goes on
   */
  public BatchSize(BatchOptions options, LongSupplier memory, LongSupplier millis) {
    this.options = options;
    this.memory = memory;
    this.millis = millis;
    this.pace = options.paced() ? FIRST_ROWS : WARMING_ROWS;
  }

  /** Returns the bounds of the next batch where {@code left} rows are still to be read. */
  public Limit next(long left) {
    learn();
    if (options.maxRows() != 0) {
      return new Limit(options.maxRows(), options.maxBytes());
    }
    long held = (long) (memory.getAsLong() * options.memoryShare());
    memoryRows = Math.min(options.mostRows(), Math.max(LEAST_ROWS, held / ROW_BYTES));
    long bytes = Math.max(LEAST_BYTES, held / 2);
    long rows = Math.min(pace, memoryRows);
    // A small rest is not worth a batch of its own.
    boolean all = left - left / 5 <= Math.min(rows, rowsIn(bytes));
    // Sizes are estimates, so there is more room than they ask for.
    limit =
        all
            ? new Limit(rows + rows / 2, Math.min(options.maxBytes(), bytes + bytes / 2))
            : new Limit(rows, Math.min(options.maxBytes(), bytes));
    return limit;
  }

  /**
   * Notes what a batch was given, as it begins.
   *
   * @param bytes 0 where nobody knows
   * @param more tells that there is more
   */
  public void took(long rows, long bytes, boolean more) {
    if (rows == 0) {
      return;
    }
    meanBytes = bytes > 0 ? (double) bytes / rows : meanBytes;
    began = millis.getAsLong();
    boolean probed = meanBytes == 0; // the few rows of it tell their size, and no pace
    underWay = more && !probed ? rows : 0;
    if (!more) {
      bound = Bound.BACKLOG;
    } else if (probed) {
      bound = Bound.MEMORY;
    } else if (rows * meanBytes >= limit.bytes() * NEARLY) {
      bound = limit.bytes() == options.maxBytes() ? Bound.SETTING : Bound.MEMORY;
    } else {
      bound = rows >= memoryRows * NEARLY ? Bound.MEMORY : Bound.TIME;
    }
  }

  /** Notes how large rows were seen to be. */
  public void measured(double rowBytes) {
    meanBytes = rowBytes;
  }

  /** The mean size of a row in bytes; 0 where none was seen. */
  public double meanBytes() {
    return meanBytes;
  }

  /** Returns about how many rows are in a number of bytes. */
  public long rowsIn(long bytes) {
    return meanBytes > 0 ? (long) Math.ceil(bytes / meanBytes) : bytes > 0 ? Long.MAX_VALUE / 2 : 0;
  }

  /** Hears, once a full batch, how long it took: the next one is asked for when it has ended. */
  private void learn() {
    if (underWay == 0) {
      return;
    }
    long rows = underWay;
    underWay = 0;
    if (!options.paced()) {
      pace = Long.MAX_VALUE;
      return;
    }
    long lasted = Math.max(1, millis.getAsLong() - began);
    long target = Math.max(TARGET_MS, options.triggerMillis());
    // What was ready before the next trigger may have been ready long before.
    boolean early = lasted <= options.triggerMillis() + options.triggerMillis() / 8;
    long fitting = early || 2 * lasted < target ? rows * GROWTH : rows * target / lasted;
    if (early || lasted < target) {
      pace = Math.max(pace, Math.min(rows * GROWTH, fitting));
    } else {
      pace = Math.max(LEAST_PACE, Math.max(rows / 4, fitting));
    }
  }

  /** Tells {@code batch.rows}, {@code batch.bytes} and {@code batch.bound} of the last batch. */
  public Map<String, String> metrics() {
    if (options.maxRows() != 0) {
      return Map.of();
    }
    return Map.of(
        "batch.rows", Long.toString(Math.min(limit.rows(), rowsIn(limit.bytes()))),
        "batch.bytes", Long.toString(limit.bytes()),
        "batch.bound", bound.name().toLowerCase(Locale.ROOT));
  }
}
