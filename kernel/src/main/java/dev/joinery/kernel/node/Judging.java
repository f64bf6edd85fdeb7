package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.ChangeLetter;
import dev.joinery.kernel.message.Outbox;
import dev.joinery.kernel.message.RawChange;
import dev.joinery.kernel.program.GroupProgram;
import java.util.List;

/**
 * The way of one row's changes to groups that go by time: judges each by the watermark of its
 * partition before it, and sends what it adds to windows and takes from them, but for those that
 * are forgotten. Remembers nothing between batches: a {@link RowCell} has the watermark.
 *
 * <p>Changes are judged one by one, not by what a batch makes of all: one that came in time may
 * stand in a window that is forgotten to the next. To a row of a snapshot only that is forgotten
 * which was to the row before.
 */
final class Judging implements RelationRows.Hearing {
  private final RelationRows rows;
  private final List<RowWay> products;
  private final GroupProgram.LateProgram clock;
  private final ChangeLetter letters;
  private final LogWatermark reached;
  private RawChange change;
  private Slice before;
  private long timestamp;
  private Outbox outbox;

  /** {@code products} all go by the relation's times; where one leaves rows out, it is alone. */
  Judging(RelationRows rows, List<RowWay> products, int relation, NodeContext context) {
    this.rows = rows;
    this.products = products;
    this.clock = products.get(0).late();
    this.letters = new ChangeLetter(context.program().relations().get(relation));
    this.reached = new LogWatermark(new int[] {relation}, context);
  }

  /** Begins with a row as products see it; null where there is none. */
  void begin(Slice row, long timestamp, Outbox outbox) {
    this.before = row;
    this.timestamp = timestamp;
    this.outbox = outbox;
  }

  @Override
  public boolean isForgotten(RowCell cell, RawChange change) {
    return false;
  }

  @Override
  public void beginsAnew(RowCell cell, RawChange change) {}

  @Override
  public boolean takes(RawChange change, Slice row, RowCell cell) {
    this.change = change;
    if (row == null) {
      return products.stream()
          .noneMatch(
              each -> each.lateness().isOut(change.moved(), change.newest(), reached.reached()));
    }
    boolean takes = true;
    for (RowWay each : products) {
      takes &= !isLeftOut(each, row);
    }
    return takes;
  }

  private boolean isLeftOut(RowWay product, Slice row) {
    Slice derived = rows.derived(row);
    Lateness lateness = product.lateness();
    return lateness.isTimed(derived)
        && !change.snapshot()
        && lateness.leavesOut(
            lateness.timeOf(derived),
            change.newest(),
            reached.reached(),
            (reason, detail) ->
                outbox.emit(letters.late(reason, detail, product.product(), row, timestamp)));
  }

  @Override
  public void applied(RowCell cell) {
    if (!change.snapshot()) {
      long bound = clock.watermark(change.newest(), reached.micros());
      cell.watermark = Math.max(cell.watermark, bound);
    }
    Slice after = rows.view(cell);
    for (RowWay each : products) {
      boolean late = each.take(before, after, Slice.EMPTY, cell.watermark, timestamp, outbox);
      if (late && !change.snapshot()) {
        each.lateness().countTooLate();
      }
    }
    before = after;
  }

  /** Sends what was taken. */
  void end() {
    products.forEach(each -> each.sendTo(timestamp, outbox));
  }
}
