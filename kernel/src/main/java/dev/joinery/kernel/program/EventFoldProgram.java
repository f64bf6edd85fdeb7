package dev.joinery.kernel.program;

import java.io.Serializable;
import java.util.List;

/**
 * The states that the events of a log make, in the order of their numbers.
 *
 * @param relation the log
 * @param input the assembler, over a row as products see it: the columns that tell states apart,
 *     the event's number, its time where there is one
 * @param by how many columns tell states apart
 * @param timed whether {@code input} tells a time
 * @param eventKind over a row as products see it, what has happened
 * @param compared over the same, the columns in which two events of one number differ
 * @param initial the assembler, over a state of nulls, of the one before the first event
 * @param when what events make of it, by kind
 * @param waitMicros how long events behind a gap wait for the numbers that are missing; 0 for not
 *     by time
 * @param waitEvents how many of them wait before those numbers are given up; null for not by their
 *     number
 */
public record EventFoldProgram(
    String name,
    int level,
    int relation,
    int input,
    int by,
    boolean timed,
    int eventKind,
    int[] compared,
    int initial,
    List<Transition> when,
    long waitMicros,
    int product,
    Integer waitEvents)
    implements Program.NodeProgram {
  /** Whether the clock tells how long events have waited, as they have no times. */
  public boolean waitsByClock() {
    return waitMicros > 0 && !timed;
  }

  @Override
  public boolean isTimed() {
    return waitsByClock();
  }

  /** The assembler of the state after an event of a kind, over the one before and the event. */
  public record Transition(String kind, int assembler) implements Serializable {}
}
