package dev.joinery.kernel.node;

import dev.joinery.kernel.program.GroupProgram;

/** Windows whose lengths are a fixed number of microseconds, whatever a calendar says. */
final class ElapsedWindows extends Windows {
  private static final long DAY = 86_400_000_000L;
  private static final long WEEK = 7 * DAY;

  /** 1969-12-29, a Monday. */
  private static final long FIRST_MONDAY = -3 * DAY;

  private final boolean cumulative;
  private final long size;
  private final long every;
  private final long base;
  private final long slice;

  ElapsedWindows(GroupProgram.WindowProgram program) {
    cumulative = program.shape() == GroupProgram.WindowShape.CUMULATIVE;
    size = microsOf(program.size());
    every = microsOf(program.every());
    GroupProgram.Span aligned = cumulative ? program.size() : program.every();
    long first = aligned.unit() == GroupProgram.WindowUnit.WEEKS ? FIRST_MONDAY : 0;
    base = first + program.offsetMicros();
    slice = gcd(size, every);
  }

  static boolean canTell(GroupProgram.WindowProgram program) {
    return program.zone() == null
        && program.size().unit() != GroupProgram.WindowUnit.MONTHS
        && program.every().unit() != GroupProgram.WindowUnit.MONTHS;
  }

  private static long microsOf(GroupProgram.Span span) {
    return switch (span.unit()) {
      case MICROS -> span.count();
      case DAYS -> span.count() * DAY;
      case WEEKS -> span.count() * WEEK;
      case MONTHS -> throw new IllegalArgumentException("months are of no one length");
    };
  }

  private long floor(long time, long step) {
    return time - Math.floorMod(time - base, step);
  }

  @Override
  long sliceOf(long time) {
    return floor(time, slice);
  }

  @Override
  void holding(long time, Taking taking) {
    if (cumulative) {
      long start = floor(time, size);
      for (long end = floor(time, every) + every; end <= start + size; end += every) {
        taking.take(start, end);
      }
      return;
    }
    long last = floor(time, every);
    for (long start = last - (size - 1 - (time - last)) / every * every;
        start <= last;
        start += every) {
      taking.take(start, start + size);
    }
  }

  @Override
  long endOf(long start) {
    return start + size;
  }
}
