package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.Marks;
import dev.joinery.kernel.program.KeptProgram;
import dev.joinery.kernel.state.State;
import java.util.List;

/**
 * Until when rows are kept whose time is over at some point: goes by the least watermark of their
 * product's logs before the batch.
 *
 * <p>What is over is as if it were not there from the batch on in which it is, whenever it is
 * removed; so it alters nothing when that happens.
 */
final class Keeping {
  /** Of what is over by a watermark: it is forgotten in another way than a delete. */
  private static final Slice OVER = Slice.of(new byte[] {2});

  private final KeptProgram program;
  private final LogWatermark reached;

  /** {@code program} is null where nothing is forgotten by time. */
  Keeping(KeptProgram program, NodeContext context) {
    this.program = program;
    this.reached = program == null ? null : new LogWatermark(program.logs(), context);
  }

  boolean forgets() {
    return program != null;
  }

  /** Rows of times before this are over; {@link Marks#UNKNOWN} where none is. */
  long overBefore() {
    return program == null ? Marks.UNKNOWN : reached.before(program.micros());
  }

  /** The same of children. */
  long childrenOverBefore() {
    return program == null ? Marks.UNKNOWN : reached.before(program.childMicros());
  }

  /** Whether a row of a time is over; {@link Marks#UNKNOWN} never is. */
  boolean isOver(long time) {
    return time != Marks.UNKNOWN && time < overBefore();
  }

  /** Whether {@code Node.expire} was called for what is over. */
  static boolean isTold(List<Slice> entries) {
    return entries.contains(OVER);
  }

  /** Has {@code Node.expire} called once a row of a time is over. */
  void noteRow(long time, State state) {
    note(time + program.micros(), state);
  }

  /** The same of a child. */
  void noteChild(long time, State state) {
    note(time + program.childMicros(), state);
  }

  /**
   * One of the logs may be ahead of the others, and what it told of be looked at too early: then it
   * is looked at again once that one has gone on as far as the others have to.
   */
  private void note(long bound, State state) {
    int first = program.logs()[0];
    long told = state.watermark(first);
    long behind = reached.micros() == Marks.UNKNOWN ? program.micros() : bound - reached.micros();
    long time = told == Marks.UNKNOWN ? bound : Math.max(bound, told + Math.max(behind, 1));
    state.expireAtWatermark(first, time, OVER);
  }
}
