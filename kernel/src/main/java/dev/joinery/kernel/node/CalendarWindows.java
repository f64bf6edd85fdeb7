package dev.joinery.kernel.node;

import dev.joinery.kernel.program.GroupProgram;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.temporal.ChronoUnit;
import java.time.zone.ZoneOffsetTransition;
import java.time.zone.ZoneRules;
import java.util.ArrayDeque;
import java.util.Deque;

/**
 * Windows whose lengths a calendar tells, in a zone or in UTC.
 *
 * <p>Lengths below a day run from local midnight and are cut at the next. A wall time that the
 * clocks skip is the first instant after the gap; one that they show twice is the first of the two.
 */
final class CalendarWindows extends Windows {
  private static final long DAY = 86_400_000_000L;
  private static final LocalDate DAY_ZERO = LocalDate.ofEpochDay(0);
  private static final LocalDate FIRST_MONDAY = LocalDate.of(1969, 12, 29);

  private final GroupProgram.WindowShape shape;
  private final GroupProgram.Span size;
  private final long offset;
  private final boolean zoned;
  private final ZoneRules rules;
  private final Starts outer;
  private final Starts steps;
  private final Starts days;

  CalendarWindows(GroupProgram.WindowProgram program) {
    this.shape = program.shape();
    this.size = program.size();
    this.offset = program.offsetMicros();
    this.zoned = program.zone() != null;
    this.rules = zoned ? ZoneId.of(program.zone()).getRules() : ZoneOffset.UTC.getRules();
    this.days = new Starts(new GroupProgram.Span(1, GroupProgram.WindowUnit.DAYS));
    this.outer = new Starts(size);
    this.steps = new Starts(program.every());
  }

  @Override
  long sliceOf(long time) {
    return shape == GroupProgram.WindowShape.TUMBLING ? outer.floor(time) : time;
  }

  @Override
  void holding(long time, Taking taking) {
    switch (shape) {
      case TUMBLING -> taking.take(outer.floor(time), outer.after(outer.floor(time)));
      case HOPPING -> hopping(time, taking);
      case CUMULATIVE -> cumulative(time, taking);
    }
  }

  private void hopping(long time, Taking taking) {
    Deque<Long> starts = new ArrayDeque<>();
    for (long start = steps.floor(time); endOf(start) > time; start = steps.floor(start - 1)) {
      starts.push(start);
    }
    starts.forEach(start -> taking.take(start, endOf(start)));
  }

  private void cumulative(long time, Taking taking) {
    long start = outer.floor(time);
    long last = outer.after(start);
    long end = start;
    for (int times = 1; end < last; times++) {
      end = Math.min(steps.later(start, end, times), last);
      if (end > time) {
        taking.take(start, end);
      }
    }
  }

  @Override
  long endOf(long start) {
    return shape == GroupProgram.WindowShape.HOPPING ? steps.endOf(start) : outer.after(start);
  }

  private long localOf(long time) {
    Instant instant = Instant.EPOCH.plus(time, ChronoUnit.MICROS);
    return time + rules.getOffset(instant).getTotalSeconds() * 1_000_000L;
  }

  /** When the clock first shows so much after a day's midnight, or is past it. */
  private long instantOf(LocalDate day, long clock) {
    LocalDateTime wall = day.atStartOfDay().plus(clock, ChronoUnit.MICROS);
    ZoneOffsetTransition change = rules.getTransition(wall);
    if (change != null && change.isGap()) {
      return change.toEpochSecond() * 1_000_000;
    }
    ZoneOffset shown = change == null ? rules.getOffset(wall) : change.getOffsetBefore();
    // ChronoUnit.between counts nanoseconds in Java 17, which overflow after 292 years.
    return wall.toEpochSecond(shown) * 1_000_000 + wall.getNano() / 1_000;
  }

  private static LocalDate moved(LocalDate day, GroupProgram.Span span, long times) {
    long count = span.count() * times;
    return switch (span.unit()) {
      case DAYS -> day.plusDays(count);
      case WEEKS -> day.plusWeeks(count);
      case MONTHS -> day.plusMonths(count);
      case MICROS -> throw new IllegalArgumentException("no unit of a calendar");
    };
  }

  /** The starts at each multiple of a length. */
  private final class Starts {
    private final GroupProgram.Span span;
    private final boolean elapsed;

    Starts(GroupProgram.Span span) {
      this.span = span;
      this.elapsed = span.unit() == GroupProgram.WindowUnit.MICROS;
    }

    /** The last start that is not above a time. */
    long floor(long time) {
      if (!elapsed) {
        return boundary(index(time));
      }
      long first = zoned ? days.floor(time) : offset;
      return time - Math.floorMod(time - first, span.count());
    }

    /** The first start above a time. */
    long after(long time) {
      if (!elapsed) {
        return boundary(index(time) + span.count());
      }
      long following = floor(time) + span.count();
      return zoned ? Math.min(following, days.after(time)) : following;
    }

    /** Where the step ends that is so many lengths after a start, the one before ending there. */
    long later(long start, long before, int times) {
      if (!elapsed) {
        return instantOf(moved(days.firstDay(days.index(start)), span, times), offset);
      }
      return zoned ? after(before) : start + times * span.count();
    }

    /** Where the window ends that begins at a start. */
    long endOf(long start) {
      if (size.unit() == GroupProgram.WindowUnit.MICROS) {
        long end = start + size.count();
        return zoned ? Math.min(end, days.after(start)) : end;
      }
      if (!elapsed) {
        return instantOf(moved(firstDay(index(start)), size, 1), offset);
      }
      if (zoned && days.floor(start) == start) {
        return instantOf(moved(days.firstDay(days.index(start)), size, 1), offset);
      }
      long local = localOf(start);
      LocalDate day = DAY_ZERO.plusDays(Math.floorDiv(local, DAY));
      return instantOf(moved(day, size, 1), Math.floorMod(local, DAY));
    }

    /** The multiple at which the last start of a calendar stands that is not above a time. */
    private long index(long time) {
      long step = span.count();
      long day = Math.floorDiv(localOf(time) - offset, DAY);
      long index = Math.floorDiv(unitOf(day), step) * step;
      while (boundary(index) > time) {
        index -= step;
      }
      while (boundary(index + step) <= time) {
        index += step;
      }
      return index;
    }

    private long boundary(long index) {
      return instantOf(firstDay(index), offset);
    }

    private long unitOf(long day) {
      return switch (span.unit()) {
        case DAYS -> day;
        case WEEKS -> Math.floorDiv(day + 3, 7);
        case MONTHS -> ChronoUnit.MONTHS.between(
            DAY_ZERO, DAY_ZERO.plusDays(day).withDayOfMonth(1));
        case MICROS -> throw new IllegalArgumentException("no unit of a calendar");
      };
    }

    private LocalDate firstDay(long index) {
      return switch (span.unit()) {
        case DAYS -> DAY_ZERO.plusDays(index);
        case WEEKS -> FIRST_MONDAY.plusWeeks(index);
        case MONTHS -> DAY_ZERO.plusMonths(index);
        case MICROS -> throw new IllegalArgumentException("no unit of a calendar");
      };
    }
  }
}
