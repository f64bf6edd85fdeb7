package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.ChangeLetter;
import dev.joinery.kernel.message.Marks;
import dev.joinery.kernel.message.Outbox;
import dev.joinery.kernel.message.RawChange;
import dev.joinery.kernel.program.JudgedProgram;
import dev.joinery.kernel.program.KeptProgram;

/**
 * Judges the changes of one row for a product with intervals, by the watermark of their partition
 * before each: one that is left out as late, or comes too late, is as if not in the log. Remembers
 * nothing.
 */
final class Arrivals implements RelationRows.Hearing {
  private final RelationRows rows;
  private final JudgedProgram program;
  private final Lateness lateness;
  private final ChangeLetter letters;
  private final String product;
  private final LogWatermark reached;
  private final LogWatermark horizon;
  private long timestamp;
  private Outbox outbox;

  /** {@code kept} is null where nothing is forgotten. */
  Arrivals(
      RelationRows rows, JudgedProgram program, KeptProgram kept, int relation, NodeContext context) {
    this.rows = rows;
    this.program = program;
    this.product = context.program().products().get(program.product()).name();
    this.lateness =
        new Lateness(
            program.late(), rows.visibleColumns(), product, context.counters(), this::lifetime);
    this.letters = new ChangeLetter(context.program().relations().get(relation));
    this.reached = new LogWatermark(new int[] {relation}, context);
    this.horizon = kept == null ? null : new LogWatermark(kept.logs(), context);
  }

  void begin(long timestamp, Outbox outbox) {
    this.timestamp = timestamp;
    this.outbox = outbox;
  }

  @Override
  public boolean takes(RawChange change, Slice row, RowCell cell) {
    boolean judged = row != null && !change.snapshot();
    Slice derived = row != null ? rows.derived(row) : cell.exists ? rows.derived(cell.row) : null;
    long time = derived == null ? Marks.UNKNOWN : lateness.timeOf(derived);
    if (judged && lateness.isTimed(derived) && isLeftOut(change, row, time)) {
      return false;
    }
    boolean tooLate = isTooLate(time, change);
    if (tooLate) {
      lateness.countTooLate();
    }
    return !tooLate;
  }

  private boolean isLeftOut(RawChange change, Slice row, long time) {
    return lateness.leavesOut(
        time,
        change.newest(),
        reached.reached(),
        (reason, detail) ->
            outbox.emit(letters.late(reason, detail, product, row, timestamp)));
  }

  private boolean isTooLate(long time, RawChange change) {
    if (horizon == null || time == Marks.UNKNOWN) {
      return false;
    }
    long bound = horizon.micros();
    if (!change.snapshot()) {
      bound = Math.max(bound, program.late().watermark(change.newest(), reached.micros()));
    }
    return bound != Marks.UNKNOWN && time + program.countsMicros() < bound;
  }

  private void lifetime(long time, Windows.Taking taking) {
    if (program.afterMicros() >= 0) {
      taking.take(time - program.beforeMicros(), time + program.afterMicros() + 1);
    }
  }

  @Override
  public void applied(RowCell cell) {}
}
