package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.BinaryRow;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.Counters;
import dev.joinery.kernel.message.EventTime;
import dev.joinery.kernel.message.Marks;
import dev.joinery.kernel.program.GroupProgram;
import java.math.BigDecimal;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;

/**
 * Which rows of a relation come late for one product: counts them, and tells whether they are left
 * out; remembers nothing.
 */
public final class Lateness {
  private static final String LATE = "late";
  private static final String OVERTAKEN = "overtaken";
  private static final String TOO_LATE = "too_late";
  static final String TIMELESS = "event_without_time";

  private final GroupProgram.LateProgram program;
  private final String product;
  private final Counters counters;
  private final UnsafeRow row;
  private final Lifetimes lifetimes;

  /** Of groups that are sent as they stand. */
  static final Lifetimes ALWAYS_OPEN = (time, taking) -> {};

  /** Tells of each window of a time that is sent once closed from when to when it is. */
  interface Lifetimes {
    void of(long time, Windows.Taking taking);
  }

  /** Writes a dead letter. */
  public interface Letters {
    void write(String reason, String detail);
  }

  /** {@code columns} is how many a row of the relation has as products see it. */
  Lateness(
      GroupProgram.LateProgram program,
      int columns,
      String product,
      Counters counters,
      Lifetimes lifetimes) {
    this.program = program;
    this.lifetimes = lifetimes;
    this.product = product;
    this.counters = counters;
    this.row = new UnsafeRow(columns);
  }

  /** Whether late rows are as if not in the log. */
  boolean leavesOut() {
    return program.rows() != GroupProgram.LateRows.CORRECT;
  }

  /** The time of a row with its derived columns; {@link Marks#UNKNOWN} for none. */
  long timeOf(Slice derived) {
    BinaryRow.point(row, derived);
    return EventTime.isIn(row, program.time()) ? row.getLong(program.time()) : Marks.UNKNOWN;
  }

  /** Whether a row with its derived columns has a time; counts it where not. */
  public boolean isTimed(Slice derived) {
    boolean timed = timeOf(derived) != Marks.UNKNOWN;
    if (!timed) {
      countTimeless();
    }
    return timed;
  }

  /** Counts a row that has no time. */
  void countTimeless() {
    counters.product(product, TIMELESS, 1);
  }

  /**
   * Counts a row that is late; returns whether it is as if not in the log.
   *
   * @param time of the row; {@link Marks#UNKNOWN} where it is never late
   * @param newest the newest time before it in its partition; {@link Marks#UNKNOWN} for none
   * @param reached how far the relation had come before the batch
   */
  public boolean leavesOut(long time, long newest, Reached reached, Letters letters) {
    if (time == Marks.UNKNOWN) {
      return false;
    }
    long lateBy = program.lateBy(time, newest);
    if (lateBy > 0) {
      return tell(LATE, lateBy, letters);
    }
    if (isInEnded(time, reached)) {
      counters.product(product, OVERTAKEN, 1);
      return false;
    }
    long overtakenBy = program.overtakenBy(time, reached.watermark());
    return overtakenBy > 0 && tell(OVERTAKEN, overtakenBy, letters);
  }

  /**
   * Whether a record is as if not in the log, whose upsert is counted where that is judged.
   *
   * @param time as for {@link #leavesOut(long, long, Reached, Letters)}, as the others
   */
  boolean isOut(long time, long newest, Reached reached) {
    if (!leavesOut() || time == Marks.UNKNOWN) {
      return false;
    }
    return program.lateBy(time, newest) > 0
        || (!isInEnded(time, reached) && program.overtakenBy(time, reached.watermark()) > 0);
  }

  /** Whether a window of a time was closed since logs had ended: it is corrected by any row. */
  private boolean isInEnded(long time, Reached reached) {
    if (reached.ends().isEmpty()) {
      return false;
    }
    boolean[] any = {false};
    lifetimes.of(
        time, (start, end) -> any[0] |= reached.hasEnded(start, end, program.allowedMicros()));
    return any[0];
  }

  /** Counts a change all of whose windows are forgotten. */
  public void countTooLate() {
    counters.product(product, TOO_LATE, 1);
  }

  private boolean tell(String reason, long micros, Letters letters) {
    counters.product(product, reason, 1);
    if (program.rows() == GroupProgram.LateRows.DEAD_LETTER) {
      String seconds = BigDecimal.valueOf(micros, 6).stripTrailingZeros().toPlainString();
      letters.write(reason, "Its time is " + seconds + " s below what the watermark allows.");
    }
    return leavesOut();
  }
}
