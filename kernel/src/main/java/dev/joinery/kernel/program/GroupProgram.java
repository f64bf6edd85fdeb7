package dev.joinery.kernel.program;

import java.io.Serializable;
import java.util.List;

/**
 * Groups of rows, and their aggregates.
 *
 * @param relation whose rows are grouped
 * @param input the assembler, over a row as products see it: the columns that it is grouped by,
 *     its time where there is a window, then what the aggregates read
 * @param by how many columns it is grouped by
 * @param window null where groups have none, and where they are sessions or slide
 * @param session null where groups are not sessions
 * @param sliding null where groups do not slide
 * @param aggregates over {@code input}
 * @param assembler the group's document, over the columns of its address and the aggregates
 * @param late what becomes of rows that come late; null where nothing tells their time
 * @param stays whether windows stay once their retention is over, since rows of a snapshot may
 *     still come to them; null for no
 */
public record GroupProgram(
    String name,
    int level,
    int relation,
    int input,
    int by,
    WindowProgram window,
    SessionProgram session,
    SlidingProgram sliding,
    List<Program.AggregateProgram> aggregates,
    int assembler,
    int product,
    LateProgram late,
    Boolean stays)
    implements Program.NodeProgram {
  /** Whether what groups a row is in depends on its time. */
  public boolean goesByTime() {
    return window != null || isByKeyAlone();
  }

  /** Whether one address has the rows of all times. */
  public boolean isByKeyAlone() {
    return session != null || sliding != null;
  }

  /** Whether its windows are forgotten by the watermark of the relation. */
  public boolean isForgetting() {
    return late != null && late.retentionMicros() >= 0 && stays == null;
  }

  /**
   * How long after its last row nothing can join a session any more. A row counts for the retention
   * after the gap that follows it, and joins what is nearer to it than the gap.
   *
   * @param allowedMicros how long after its end a session is closed; 0 where none waits
   */
  public long sessionsForgottenAfter(long allowedMicros) {
    return 2 * session.gapMicros() + Math.max(late.retentionMicros(), allowedMicros);
  }

  /** How windows lie on the line of time. */
  public enum WindowShape {
    TUMBLING,
    HOPPING,
    CUMULATIVE
  }

  /** The unit of a window's lengths: of elapsed time, or of a calendar. */
  public enum WindowUnit {
    MICROS,
    DAYS,
    WEEKS,
    MONTHS
  }

  /** So much of a unit. */
  public record Span(long count, WindowUnit unit) implements Serializable {}

  /**
   * Which windows hold a time.
   *
   * @param every from one start to the next of hopping windows, from one end to the next of
   *     cumulative ones; of tumbling windows their size
   * @param offsetMicros by how much all starts are moved
   * @param zone whose midnights windows are aligned to; null for elapsed time since 1970 in UTC
   */
  public record WindowProgram(
      WindowShape shape, Span size, Span every, long offsetMicros, String zone)
      implements Serializable {}

  /**
   * Rows whose neighbours are less than a gap apart are one session.
   *
   * @param maxMicros a session is cut at each multiple of it after its first row; 0 for never
   * @param divides whether a session may fall apart: rows go, or cuts move
   */
  public record SessionProgram(long gapMicros, long maxMicros, boolean divides)
      implements Serializable {
    /**
     * Where a session ends: a gap after its last row, or where it is cut.
     *
     * @param start the time of its first row, {@code last} that of its last
     * @param run where the run of rows begins that it is cut from
     */
    public long endOf(long start, long last, long run) {
      return Math.min(last + gapMicros, cutOf(start, run));
    }

    /** Where the session ends at most that begins at a time, in the run of another. */
    public long cutOf(long start, long run) {
      return maxMicros == 0
          ? Long.MAX_VALUE
          : run + ((start - run) / maxMicros + 1) * maxMicros;
    }
  }

  /**
   * Where the sessions of a Group are cut that are sent once closed.
   *
   * @param target the Group, whose rows it hears of, too
   * @param closing what tells that one
   */
  public record CutsProgram(String name, int level, int target, int closing)
      implements Program.NodeProgram {}

  /** Groups hold the last while of a size up to the watermark. */
  public record SlidingProgram(long sizeMicros) implements Serializable {}

  /** What becomes of rows that come late: they are counted, and but for the first left out. */
  public enum LateRows {
    CORRECT,
    DEAD_LETTER,
    DROP
  }

  /**
   * When a row is late, and what becomes of it.
   *
   * @param time the column of a row, as products see it, that tells its time
   * @param delayMicros the watermark of a partition is its newest time less this
   * @param allowedMicros how far below the watermark a row is not late yet
   * @param retentionMicros how long after its end the watermark must be for a window to be
   *     forgotten; -1 for groups without a window
   */
  public record LateProgram(
      LateRows rows, int time, long delayMicros, long allowedMicros, long retentionMicros)
      implements Serializable {
    /**
     * The watermark by which a row forgets windows: that of its partition; of one that is new, or
     * was waited for no longer, the relation's where that is higher.
     *
     * @param newest the newest time before the row in its partition, {@code reached} the watermark
     *     of the relation before the batch; the least number where one is not known
     */
    public long watermark(long newest, long reached) {
      return newest == Long.MIN_VALUE ? reached : Math.max(newest - delayMicros, reached);
    }

    /**
     * By how much a row is below what the whole relation has reached; at most 0 where it is not.
     *
     * @param reached as above
     */
    public long overtakenBy(long time, long reached) {
      return reached == Long.MIN_VALUE ? 0 : reached - allowedMicros - time;
    }

    /**
     * Up to which end windows are forgotten; the least number for none.
     *
     * @param watermark the least number where it is not known
     */
    public long forgottenUpTo(long watermark) {
      return retentionMicros < 0 || watermark < Long.MIN_VALUE + retentionMicros
          ? Long.MIN_VALUE
          : watermark - retentionMicros;
    }

    /**
     * By how much a row is late; at most 0 where it is not.
     *
     * @param newest the newest time before the row in its partition; the least number for none
     */
    public long lateBy(long time, long newest) {
      return newest == Long.MIN_VALUE ? 0 : newest - time - delayMicros - allowedMicros;
    }
  }
}
