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
  private static final String TIMELESS = "event_without_time";

  private final GroupProgram.LateProgram program;
  private final String product;
  private final Counters counters;
  private final UnsafeRow row;

  /** Writes a dead letter. */
  public interface Letters {
    void write(String reason, String detail);
  }

  /** {@code columns} is how many a row of the relation has as products see it. */
  Lateness(
      GroupProgram.LateProgram program, int columns, String product, Counters counters) {
    this.program = program;
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
      counters.product(product, TIMELESS, 1);
    }
    return timed;
  }

  /**
   * Counts a row that is late; returns whether it is as if not in the log.
   *
   * @param time of the row; {@link Marks#UNKNOWN} where it is never late
   * @param newest the newest time before it in its partition, {@code reached} the watermark of the
   *     relation before the batch; {@link Marks#UNKNOWN} for none
   */
  public boolean leavesOut(long time, long newest, long reached, Letters letters) {
    if (time == Marks.UNKNOWN) {
      return false;
    }
    long lateBy = program.lateBy(time, newest);
    if (lateBy > 0) {
      return tell(LATE, lateBy, letters);
    }
    long overtakenBy = program.overtakenBy(time, reached);
    return overtakenBy > 0 && tell(OVERTAKEN, overtakenBy, letters);
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
