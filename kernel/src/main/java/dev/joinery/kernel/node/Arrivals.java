package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.ChangeLetter;
import dev.joinery.kernel.message.Marks;
import dev.joinery.kernel.message.Message;
import dev.joinery.kernel.message.Outbox;
import dev.joinery.kernel.message.RawChange;
import dev.joinery.kernel.program.JudgedProgram;
import dev.joinery.kernel.program.KeptProgram;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Judges the changes of one row for a product with intervals, by the watermark of their partition
 * before each: one that is left out as late, or comes too late, is as if not in the log. To one that
 * comes later still, the row is forgotten, and it is of another under its key. Remembers nothing.
 */
final class Arrivals implements RelationRows.Hearing {
  private final RelationRows rows;
  private final JudgedProgram program;
  private final Lateness lateness;
  private final ChangeLetter letters;
  private final String product;
  private final LogWatermark reached;
  private final LogWatermark horizon;
  private final List<Former> formers = new ArrayList<>();
  /** What those who know one row a key have, where it is not the row that has the key now. */
  private Slice left;

  private boolean holdsKey;
  private boolean rowCame;
  private boolean tookPlace;
  private long timestamp;
  private Outbox outbox;

  /**
   * A row that is forgotten to what came after it, and stays where it is.
   *
   * @param row as products see it, null where they do not
   * @param began as of its cell
   */
  record Former(Slice row, long began, long epoch) {}

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
    formers.clear();
    left = null;
    holdsKey = true;
    rowCame = false;
    tookPlace = false;
  }

  /** The rows that were forgotten to changes since the last call of {@link #begin}. */
  List<Former> formers() {
    return formers;
  }

  /** Whether products saw a row under the key, however short. */
  boolean rowCame() {
    return rowCame;
  }

  /** Whether one of these took the place of a row that was forgotten. */
  boolean tookPlace() {
    return tookPlace;
  }

  /**
   * What those have who know one row a key, null for nothing: a row that was forgotten stays until
   * products see another.
   */
  Slice standing(RowCell cell) {
    return holdsKey ? rows.view(cell) : left;
  }

  @Override
  public boolean isForgotten(RowCell cell, RawChange change) {
    return horizon != null
        && cell.exists
        && isPast(lateness.timeOf(rows.derived(cell.row)), program.forgottenMicros(), change);
  }

  @Override
  public void beginsAnew(RowCell cell, RawChange change) {
    if (change.op() != Message.OP_UPSERT) {
      lateness.countTooLate();
    }
    left = standing(cell);
    holdsKey = false;
    formers.add(new Former(rows.view(cell), cell.began, Math.max(timestamp, cell.epoch + 1)));
  }

  @Override
  public boolean takes(RawChange change, Slice row, RowCell cell) {
    if (row == null && lateness.isOut(change.moved(), change.newest(), reached.reached())) {
      return false;
    }
    boolean judged = row != null && !change.snapshot();
    Slice derived = row != null ? rows.derived(row) : cell.exists ? rows.derived(cell.row) : null;
    long time = derived == null ? Marks.UNKNOWN : lateness.timeOf(derived);
    if (row != null && time == Marks.UNKNOWN) {
      lateness.countTimeless();
      return horizon == null || cell.exists || tellsTime(change);
    }
    if (judged && isLeftOut(change, row, time)) {
      return false;
    }
    boolean tooLate = isPast(time, program.countsMicros(), change);
    if (tooLate) {
      lateness.countTooLate();
    }
    return !tooLate;
  }

  private boolean tellsTime(RawChange change) {
    return Arrays.stream(program.timeColumns()).noneMatch(change::isAbsent);
  }

  private boolean isLeftOut(RawChange change, Slice row, long time) {
    return lateness.leavesOut(
        time,
        change.newest(),
        reached.reached(),
        (reason, detail) ->
            outbox.emit(letters.late(reason, detail, product, row, timestamp)));
  }

  private boolean isPast(long time, long micros, RawChange change) {
    if (horizon == null || time == Marks.UNKNOWN) {
      return false;
    }
    long bound = horizon.micros();
    if (!change.snapshot()) {
      bound = Math.max(bound, program.late().watermark(change.newest(), reached.micros()));
    }
    return bound != Marks.UNKNOWN && time + micros < bound;
  }

  private void lifetime(long time, Windows.Taking taking) {
    if (program.afterMicros() >= 0) {
      taking.take(time - program.beforeMicros(), time + program.afterMicros() + 1);
    }
  }

  @Override
  public void applied(RowCell cell) {
    boolean seen = rows.view(cell) != null;
    rowCame |= seen;
    tookPlace |= seen && !holdsKey && left != null;
    holdsKey |= seen;
  }
}
