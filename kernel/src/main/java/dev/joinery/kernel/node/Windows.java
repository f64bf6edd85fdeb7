package dev.joinery.kernel.node;

import dev.joinery.kernel.program.GroupProgram;
import java.math.BigInteger;

/**
 * Which windows hold a time: a pure function, the twin of {@code semantics/window.py}. Times are
 * microseconds since 1970 in UTC; starts are in a window, ends are not.
 */
abstract sealed class Windows permits ElapsedWindows, CalendarWindows {
  /** Takes a window. */
  interface Taking {
    void take(long start, long end);
  }

  static Windows of(GroupProgram.WindowProgram program) {
    return ElapsedWindows.canTell(program)
        ? new ElapsedWindows(program)
        : new CalendarWindows(program);
  }

  /**
   * A time that stands for a piece of time which every window holds whole or not at all, this time
   * among it.
   */
  abstract long sliceOf(long time);

  /** Gives the windows that hold a time, the earliest first. */
  abstract void holding(long time, Taking taking);

  /** The end of the window that begins at a time; of cumulative ones the last. */
  abstract long endOf(long start);

  static long gcd(long one, long other) {
    return BigInteger.valueOf(one).gcd(BigInteger.valueOf(other)).longValueExact();
  }
}
