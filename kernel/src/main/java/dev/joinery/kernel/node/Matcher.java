package dev.joinery.kernel.node;

import dev.joinery.kernel.program.PatternProgram;
import dev.joinery.kernel.program.PatternProgram.StepProgram;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashSet;
import java.util.Set;

/**
 * Looks for a match that begins at one row: remembers nothing between starts.
 *
 * <p>Ways are tried one after the other, the preferred one first, and the first that comes to the
 * end is the match. Where no test depends on what was taken before, a way that failed at a row fails
 * there again, and is not tried twice. A start that needs too many tests is given up.
 *
 * <p>The reference's twin is {@code semantics/matcher.py}.
 */
final class Matcher {
  private static final int NONE = -1;

  private final PatternProgram program;
  private final MatchReads reads;
  private final boolean follows;
  private final StepProgram[] steps;

  Matcher(PatternProgram program, MatchReads reads) {
    this.program = program;
    this.reads = reads;
    this.follows = program.followsMatch();
    this.steps = program.steps().toArray(new StepProgram[0]);
  }

  /** What a start leads to; {@code last} is null where that is nothing. */
  record Found(Taken last, boolean givenUp) {
    static final Found NOTHING = new Found(null, false);
    static final Found TOO_MUCH = new Found(null, true);
  }

  /** The match that begins at a row. */
  Found from(int start, KeyRows rows) {
    try {
      Taken last = new Attempt(start, rows).run();
      return last == null ? Found.NOTHING : new Found(last, false);
    } catch (GivenUp tooMuch) {
      return Found.TOO_MUCH;
    }
  }

  private static final class GivenUp extends RuntimeException {
    private static final long serialVersionUID = 1;

    GivenUp() {
      super(null, null, false, false);
    }
  }

  /** A way that is still to be tried. */
  private record Way(int place, int at, Taken taken) {}

  private final class Attempt {
    private final KeyRows rows;
    private final long bound;
    private final Deque<Way> ways = new ArrayDeque<>();
    private final Set<Long> tried = new HashSet<>();
    private int tests;

    Attempt(int start, KeyRows rows) {
      this.rows = rows;
      this.bound =
          program.withinMicros() < 0
              ? Long.MAX_VALUE
              : timeOf(start) + program.withinMicros();
      ways.push(new Way(program.first(), start, null));
    }

    private long timeOf(int at) {
      return rows.row(at).getLong(program.time());
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
        switch (step.step()) {
          case MATCHED -> {
            return taken;
          }
          case FAILED -> {
            return null;
          }
          case TAKE -> {
            at = seen(at);
            if (at == NONE) {
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
            if (hasTried(place, at)) {
              return null;
            }
            ways.push(new Way(step.other(), at, taken));
            place = step.next();
          }
          case PASS -> {
            if (hasTried(place, at)) {
              return null;
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

    private boolean hasTried(int place, int at) {
      return !follows && !tried.add((long) place << Integer.SIZE | at);
    }

    private boolean test(Taken taken) {
      if (++tests > program.mostTests()) {
        throw new GivenUp();
      }
      return reads.isTrue(taken, rows);
    }

    /** The first row from one on that is not too late to be seen; {@link #NONE} for none. */
    private int seen(int from) {
      for (int at = from; rows.has(at); at++) {
        if (bound == Long.MAX_VALUE || timeOf(at) <= bound) {
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
      for (int at = seen(last.at + 1); at != NONE; at = seen(at + 1)) {
        if (test(reads.taken(program.absent(), at, last, rows))) {
          return false;
        }
      }
      return true;
    }
  }
}
