package dev.joinery.kernel.node;

import dev.joinery.kernel.program.PatternProgram;
import dev.joinery.kernel.program.PatternProgram.StepProgram;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashSet;
import java.util.Set;
import java.util.function.LongSupplier;
import java.util.stream.IntStream;

/**
 * Looks for a match that begins at one row.
 *
 * <p>Ways are tried one after the other, the preferred one first, and the first that comes to the
 * end is the match. A start that has not ended after a few tests begins again with {@link MatchEnds},
 * which all starts share, and goes no way that it knows to fail. Where no test depends on what was
 * taken before, that leaves no way that fails, however many rows there are.
 *
 * <p>Else a start that needs too many tests is given up. The more rows it sees, the fewer it may
 * need, so that all starts which see the same rows need no more than a number of tests together. What
 * is given up depends on the rows alone.
 *
 * <p>The reference's twin is {@code semantics/matcher.py}.
 */
final class Matcher {
  private static final int NONE = -1;

  // Of the most tests of a start: how many it may need before it looks at the ends, how many all
  // that see the same rows may need, and how many ends are kept. The twin has the same.
  private static final int FEW = 1_000;
  private static final long TOGETHER = 1_000;
  private static final long KEPT = 100;

  private final PatternProgram program;
  private final MatchReads reads;
  private final boolean follows;
  private final boolean ended;
  private final StepProgram[] steps;

  Matcher(PatternProgram program, MatchReads reads) {
    this.program = program;
    this.reads = reads;
    this.follows = program.followsMatch();
    this.ended = program.byTime() && program.withinMicros() >= 0;
    this.steps = program.steps().toArray(new StepProgram[0]);
  }

  /** What a start leads to; {@code last} is null where that is nothing. */
  record Found(Taken last, boolean givenUp) {
    static final Found NOTHING = new Found(null, false);
    static final Found TOO_MUCH = new Found(null, true);
  }

  /** The starts in the rows of one key, which must not change meanwhile. */
  Starts in(KeyRows rows) {
    return new Starts(rows);
  }

  private static final class GivenUp extends RuntimeException {
    private static final long serialVersionUID = 1;

    GivenUp() {
      super(null, null, false, false);
    }
  }

  /** A way that is still to be tried. */
  private record Way(int place, int at, Taken taken) {}

  /** The starts in the rows of one key, asked for in their order. */
  final class Starts {
    private final KeyRows rows;
    private MatchEnds ends;

    /** The first row that the last start which was asked for does not see. */
    private int behind;

    private Starts(KeyRows rows) {
      this.rows = rows;
    }

    /** The match that begins at a row. */
    Found from(int start) {
      return from(start, Integer.MAX_VALUE);
    }

    /** The match that begins at a row and is known to end no later than another. */
    Found from(int start, int end) {
      if (ends != null && ends.knows(start, lastSeen(start, end))) {
        return byEnds(start, end);
      }
      try {
        return found(new Attempt(start, end, rows, null, program.mostTests() / FEW, () -> 0));
      } catch (GivenUp more) {
        return byEnds(start, end);
      }
    }

    private Found byEnds(int start, int end) {
      int last = lastSeen(start, end);
      MatchEnds known = endsFor(start, last, end);
      long least = known != null && !follows ? Long.MAX_VALUE : mostTests(last - start + 1L);
      LongSupplier most = () -> mostTests(seenBy(start, last));
      try {
        return found(new Attempt(start, known == null ? end : last, rows, known, least, most));
      } catch (GivenUp tooMuch) {
        return Found.TOO_MUCH;
      }
    }

    private Found found(Attempt attempt) {
      Taken last = attempt.run();
      return last == null ? Found.NOTHING : new Found(last, false);
    }

    /** The last row up to one that a start may look at. */
    private int lastSeen(int start, int end) {
      long most = (long) start + (program.mostRows() > 0 ? program.mostRows() : Integer.MAX_VALUE);
      most = Math.min(most, end + 1L);
      long bound = ended ? boundOf(start, rows) : Long.MAX_VALUE;
      behind = Math.max(behind, start);
      while (behind < most && rows.has(behind) && (!ended || timeOf(behind, rows) <= bound)) {
        behind++;
      }
      return behind - 1;
    }

    /** The ends in the rows between; null where they are too many, or rows in no order. */
    private MatchEnds endsFor(int start, int last, int end) {
      int number = last - start + 1;
      long kept = 2L * number * MatchEnds.kept(program);
      if (!ended && program.withinMicros() >= 0 || kept > KEPT * program.mostTests()) {
        return null;
      }
      ends = ends == null ? new MatchEnds(program, reads) : ends;
      if (!ends.knows(start, last)) {
        // As many rows more, so that the next is read only once that many more are seen.
        long until = Math.min(end, (long) last + number);
        int to = last;
        while (to < until && rows.has(to + 1)) {
          to++;
        }
        ends.read(start, to, rows);
      }
      return ends;
    }

    /** How many rows up to its last a start sees, which are all but where rows are in no order. */
    private long seenBy(int start, int last) {
      if (ended || program.withinMicros() < 0) {
        return last - start + 1L;
      }
      long bound = boundOf(start, rows);
      return IntStream.rangeClosed(start, last).filter(at -> timeOf(at, rows) <= bound).count();
    }

    private long mostTests(long seen) {
      long most = program.mostTests();
      return Math.min(most, Math.max(most / FEW, TOGETHER * most / seen));
    }
  }

  private long timeOf(int at, KeyRows rows) {
    return rows.row(at).getLong(program.time());
  }

  private long boundOf(int start, KeyRows rows) {
    return program.withinMicros() < 0
        ? Long.MAX_VALUE
        : timeOf(start, rows) + program.withinMicros();
  }

  private final class Attempt {
    private final KeyRows rows;
    private final int end;
    private final MatchEnds ends;
    private final LongSupplier most;
    private final long bound;
    private final Deque<Way> ways = new ArrayDeque<>();
    private final Set<Long> tried = new HashSet<>();
    private long allowed;
    private long tests;

    /**
     * Looks at no row behind {@code end}; {@code ends} may be null. It may need {@code least} tests,
     * and what {@code most} gives, which goes through rows, once it needs more.
     */
    Attempt(int start, int end, KeyRows rows, MatchEnds ends, long least, LongSupplier most) {
      this.rows = rows;
      this.end = end;
      this.ends = ends;
      this.allowed = least;
      this.most = most;
      this.bound = boundOf(start, rows);
      ways.push(new Way(program.first(), start, null));
    }

    Taken run() {
      while (!ways.isEmpty()) {
        Way way = ways.pop();
        Taken found = go(way.place(), way.at(), way.taken());
        if (found != null) {
          return isLeft(found) ? found : null;
        }
      }
      return null;
    }

    /** Goes one way to its end; what else could be tried is left for later. */
    private Taken go(int from, int row, Taken before) {
      int place = from;
      int at = row;
      Taken taken = before;
      while (true) {
        StepProgram step = steps[place];
        if (taken != null && fails(place, at)) {
          return null;
        }
        switch (step.step()) {
          case MATCHED -> {
            return taken;
          }
          case FAILED -> {
            return null;
          }
          case TAKE -> {
            at = seen(at);
            if (at == NONE || fails(place, at)) {
              return null;
            }
            taken = reads.taken(step.variable(), at, taken, rows);
            if (!test(taken)) {
              return null;
            }
            at++;
            place = step.next();
          }
          case TRY -> {
            if (hasTried(place, at, taken)) {
              return null;
            }
            ways.push(new Way(step.other(), at, taken));
            place = step.next();
          }
          case PASS -> {
            if (hasTried(place, at, taken)) {
              return null;
            }
            if (ends != null && taken != null) {
              at = ends.reachedFrom(place, at);
              if (at > end) {
                return null;
              }
              ways.push(new Way(place, at + 1, taken));
              place = step.next();
              if (fails(place, at)) {
                spend();
                return null;
              }
              continue;
            }
            int passed = seen(at);
            if (taken != null && passed != NONE) {
              ways.push(new Way(place, passed + 1, taken));
            }
            place = step.next();
          }
        }
      }
    }

    private boolean fails(int place, int at) {
      return ends != null && ends.of(place, at) > end;
    }

    /** Whether a way went here before; none does again where the ends of all are known. */
    private boolean hasTried(int place, int at, Taken taken) {
      return !follows
          && (ends == null || taken == null)
          && !tried.add((long) place << Integer.SIZE | at);
    }

    private boolean test(Taken taken) {
      spend();
      return reads.isTrue(taken, rows);
    }

    /** Counts a test of a row, or a row that is gone to though no match ends in sight from there. */
    private void spend() {
      if (++tests > allowed) {
        allowed = most.getAsLong();
        if (tests > allowed) {
          throw new GivenUp();
        }
      }
    }

    /** The first row from one on that is not too late to be seen; {@link #NONE} for none. */
    private int seen(int from) {
      for (int at = from; at <= end && rows.has(at); at++) {
        if (bound == Long.MAX_VALUE || timeOf(at, rows) <= bound) {
          return at;
        }
        if (program.byTime()) {
          return NONE;
        }
      }
      return NONE;
    }

    /** Whether no later row is what none may be. */
    private boolean isLeft(Taken last) {
      if (program.absent() < 0) {
        return true;
      }
      for (int at = excludedFrom(last.at + 1); at != NONE; at = excludedFrom(at + 1)) {
        boolean known = ends != null && !program.followsMatch(program.absent());
        if (known || test(reads.taken(program.absent(), at, last, rows))) {
          return false;
        }
      }
      return true;
    }

    /** The first row from one on that may be what none may be; {@link #NONE} for none. */
    private int excludedFrom(int at) {
      if (ends == null) {
        return seen(at);
      }
      int found = ends.absentFrom(at);
      return found > end ? NONE : found;
    }
  }
}
