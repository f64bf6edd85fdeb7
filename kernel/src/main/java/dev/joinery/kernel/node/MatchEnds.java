package dev.joinery.kernel.node;

import dev.joinery.kernel.program.PatternProgram;
import dev.joinery.kernel.program.PatternProgram.StepKind;
import dev.joinery.kernel.program.PatternProgram.StepProgram;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * How early a match can end that stands at a step before a row: for all steps, and for the rows from
 * one to another. One table serves all starts among its rows, so none looks again at rows from which
 * no match can end.
 *
 * <p>Of tests that depend on what a match has taken, only what does not counts, and what fails counts
 * as true. Where there are none, a way leads to a match exactly if its end is in sight; else such a
 * way may still fail.
 *
 * <p>It holds for a step where a row was taken before: a search that has taken none passes over none.
 */
final class MatchEnds {
  /** The end of a way that leads to no match. */
  static final int NEVER = Integer.MAX_VALUE;

  private static final byte TRUE = 1;
  private static final byte FALSE = 2;

  private final PatternProgram program;
  private final MatchReads reads;
  private final StepProgram[] steps;

  /** Each step behind those that it goes on to without taking a row. */
  private final int[] order;

  private int from;
  private int to = -1;
  private int[] ends = {};
  private int[] absent = {};

  /** By step, which of those it is that pass over rows; their number behind the last. */
  private final int[] passes;

  private int[] reached = {};

  MatchEnds(PatternProgram program, MatchReads reads) {
    this.program = program;
    this.reads = reads;
    this.steps = program.steps().toArray(new StepProgram[0]);
    this.order = ordered(steps);
    this.passes = new int[steps.length + 1];
    for (int place = 0; place < steps.length; place++) {
      passes[place + 1] = passes[place] + (steps[place].step() == StepKind.PASS ? 1 : 0);
    }
  }

  /** How many numbers are kept for each row. */
  static int kept(PatternProgram program) {
    long passes = program.steps().stream().filter(each -> each.step() == StepKind.PASS).count();
    return program.steps().size() + (int) passes;
  }

  private static int[] ordered(StepProgram[] steps) {
    boolean[] done = new boolean[steps.length];
    List<Integer> found = new ArrayList<>();
    while (found.size() < steps.length) {
      for (int place = 0; place < steps.length; place++) {
        if (!done[place] && isReady(steps[place], done)) {
          done[place] = true;
          found.add(place);
        }
      }
    }
    return found.stream().mapToInt(Integer::intValue).toArray();
  }

  private static boolean isReady(StepProgram step, boolean[] done) {
    return switch (step.step()) {
      case MATCHED, FAILED, TAKE -> true;
      case PASS -> done[step.next()];
      case TRY -> done[step.next()] && done[step.other()];
    };
  }

  boolean knows(int first, int last) {
    return first >= from && last <= to;
  }

  /** Takes the place of what it was with the ends for rows from one to another. */
  void read(int first, int last, KeyRows rows) {
    from = first;
    to = last;
    int behind = last + 1 - first;
    int size = (behind + 1) * steps.length;
    ends = ends.length >= size ? ends : new int[size];
    absent = absent.length > behind ? absent : new int[behind + 1];
    int reaching = (behind + 1) * passes[steps.length];
    reached = reached.length >= reaching ? reached : new int[reaching];
    absent[behind] = NEVER;
    readBehind(behind * steps.length);
    readReached(last + 1);
    byte[] known = new byte[program.tests().size()];
    for (int at = last; at >= first; at--) {
      Arrays.fill(known, (byte) 0);
      readRow(at, known, rows);
      readReached(at);
      boolean excluded = program.absent() >= 0 && mayBe(program.absent(), at, known, rows);
      absent[at - first] = excluded ? at : absent[at + 1 - first];
    }
  }

  private void readBehind(int base) {
    for (int place : order) {
      StepProgram step = steps[place];
      ends[base + place] =
          switch (step.step()) {
            case MATCHED -> to;
            case FAILED, TAKE -> NEVER;
            case TRY -> Math.min(ends[base + step.next()], ends[base + step.other()]);
            case PASS -> ends[base + step.next()];
          };
    }
  }

  private void readRow(int at, byte[] known, KeyRows rows) {
    int base = (at - from) * steps.length;
    int next = base + steps.length;
    for (int place : order) {
      StepProgram step = steps[place];
      ends[base + place] =
          switch (step.step()) {
            case MATCHED -> at - 1;
            case FAILED -> NEVER;
            case TRY -> Math.min(ends[base + step.next()], ends[base + step.other()]);
            case PASS -> Math.min(ends[base + step.next()], ends[next + place]);
            case TAKE -> {
              int end = ends[next + step.next()];
              yield end != NEVER && mayBe(step.variable(), at, known, rows) ? end : NEVER;
            }
          };
    }
  }

  private void readReached(int at) {
    for (int place = 0; place < steps.length; place++) {
      if (steps[place].step() == StepKind.PASS) {
        int later = at > to ? NEVER : reached[reachedAt(place, at + 1)];
        reached[reachedAt(place, at)] = of(steps[place].next(), at) != NEVER ? at : later;
      }
    }
  }

  private int reachedAt(int place, int at) {
    return (at - from) * passes[steps.length] + passes[place];
  }

  private boolean mayBe(int variable, int at, byte[] known, KeyRows rows) {
    if (known[variable] == 0) {
      known[variable] = reads.mayBe(variable, at, rows) ? TRUE : FALSE;
    }
    return known[variable] == TRUE;
  }

  /** The earliest last row of a match that stands at a step before a row; {@link #NEVER} for none. */
  int of(int place, int at) {
    return ends[(at - from) * steps.length + place];
  }

  /**
   * The first row from one on before which what follows a step that passes over rows may lead to a
   * match; {@link #NEVER} for none.
   */
  int reachedFrom(int place, int at) {
    return reached[reachedAt(place, at)];
  }

  /** The first row from one on that may be what none may be; {@link #NEVER} for none. */
  int absentFrom(int at) {
    return absent[at - from];
  }
}
