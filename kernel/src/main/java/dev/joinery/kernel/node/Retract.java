package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.Message;
import dev.joinery.kernel.message.Outbox;
import dev.joinery.kernel.message.RawChange;
import dev.joinery.kernel.program.Program;
import dev.joinery.kernel.state.State;
import java.util.ArrayList;
import java.util.List;

/**
 * Remembers a relation's row; sends each of its uses what changed, a remove at the old address and
 * a put at the new.
 */
public final class Retract implements Node {

  private final RelationRows rows;
  private final List<RowUse> uses = new ArrayList<>();
  private final Judging judging;

  public Retract(Program.RetractProgram program, NodeContext context) {
    rows = context.rows(program.relation());
    List<Grouping> judged = new ArrayList<>();
    for (Program.Use use : program.uses()) {
      Grouping groups =
          use instanceof Program.GroupUse group ? new Grouping(group.target(), context) : null;
      if (groups != null && groups.lateness() != null) {
        judged.add(groups);
      } else {
        uses.add(groups != null ? RowUse.groupUse(groups) : RowUse.of(use, program.relation(), context));
      }
    }
    judging = judged.isEmpty() ? null : new Judging(rows, judged, program.relation(), context);
  }

  @Override
  public void handle(Slice key, List<byte[]> messages, State state, Outbox outbox) {
    byte[] stored = state.read();
    RowCell cell = RowCell.read(stored == null ? null : Slice.of(stored));
    if (stored == null) {
      cell.epoch = state.highestForgotten();
    }
    Slice before = rows.view(cell);
    List<RawChange> changes = new ArrayList<>(messages.size());
    for (byte[] message : messages) {
      changes.add(RawChange.read(message));
    }
    long timestamp = Message.timestamp(messages.get(0));
    if (!apply(cell, changes, before, timestamp, outbox)) {
      return;
    }
    state.write(cell.toBytes());
    if (!cell.exists) {
      rows.expireLater(cell, Slice.EMPTY, state);
    }
    Slice after = rows.view(cell);
    if (before == null ? after == null : before.equals(after)) {
      return;
    }
    RowUse.Change change = new RowUse.Change(key.toBytes(), before, after, cell.epoch, timestamp);
    for (RowUse use : uses) {
      use.send(change, outbox);
    }
  }

  private boolean apply(
      RowCell cell, List<RawChange> changes, Slice before, long timestamp, Outbox outbox) {
    if (judging == null) {
      return rows.apply(cell, changes, timestamp, outbox);
    }
    judging.begin(before, timestamp, outbox);
    boolean touched = rows.apply(cell, changes, judging, timestamp, outbox);
    judging.end();
    return touched;
  }

  @Override
  public void expire(Slice key, List<Slice> entries, long timestamp, State state) {
    byte[] stored = state.read();
    RowCell cell = RowCell.read(stored == null ? null : Slice.of(stored));
    if (cell.known && rows.isOver(cell, timestamp, Slice.EMPTY, state)) {
      state.forget(cell.epoch);
    }
  }
}
