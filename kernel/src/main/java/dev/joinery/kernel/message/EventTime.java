package dev.joinery.kernel.message;

import java.time.Instant;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;

/**
 * Which times tell when a row happened: those of the years 1001 to 8999. What lies outside stands
 * for something else, such as 9999-12-31 for never; and so no window around a time, of at most 1,000
 * years, leaves the years that documents can show.
 *
 * <p>The reference has the same bounds ({@code semantics/rows.py}).
 */
public final class EventTime {
  private static final long FIRST = micros("1001-01-01T00:00:00Z");
  private static final long AFTER_LAST = micros("9000-01-01T00:00:00Z");

  private EventTime() {}

  /** Whether a column of a row tells a time. */
  public static boolean isIn(UnsafeRow row, int column) {
    if (row.isNullAt(column)) {
      return false;
    }
    return isIn(row.getLong(column));
  }

  /** Whether microseconds since 1970 tell a time. */
  public static boolean isIn(long time) {
    return time >= FIRST && time < AFTER_LAST;
  }

  private static long micros(String instant) {
    return Instant.parse(instant).getEpochSecond() * 1_000_000;
  }
}
