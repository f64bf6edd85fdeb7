package dev.joinery.kernel.node;

import dev.joinery.kernel.program.PatternProgram;
import dev.joinery.kernel.program.PatternProgram.StepProgram;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * How early a match can end that stands at a step before a row: for all steps, and for the rows from
 * one to another. One table serves all starts among its rows, so none looks again at rows from which
 * no match can end.
 *
 * <p>Tests that depend on what a match has taken count as true. Where there are none, a way leads to
 * a match exactly if its end is in sight; else such a way may still fail.
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

  MatchEnds(PatternProgram program, MatchReads reads) {
    this.program = program;
    this.reads = reads;
    this.steps = program.steps().toArray(new StepProgram[0]);
    this.order = ordered(steps);
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
    absent[behind] = NEVER;
    readBehind(behind * steps.length);
    byte[] known = new byte[program.tests().size()];
    for (int at = last; at >= first; at--) {
      Arrays.fill(known, (byte) 0);
      readRow(at, known, rows);
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

  /** The first row from one on that is what none may be; {@link #NEVER} for none. */
  int absentFrom(int at) {
    return absent[at - from];
  }
}
