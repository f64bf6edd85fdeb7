package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.Marks;
import dev.joinery.kernel.message.Message;
import dev.joinery.kernel.message.Outbox;
import dev.joinery.kernel.message.RawChange;
import dev.joinery.kernel.program.Program;
import dev.joinery.kernel.state.State;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/**
 * Remembers a relation's row; sends each of its uses what changed, a remove at the old address and
 * a put at the new.
 */
public final class Retract implements Node {

  private final Program.RetractProgram program;
  private final NodeContext context;
  private final RelationRows rows;
  private final List<RowUse> uses = new ArrayList<>();
  /** Those that hold rows of one key apart. */
  private final List<RowUse> apart = new ArrayList<>();
  private final Judging judging;
  private final Arrivals arrivals;
  private final Keeping keeping;
  private final RowTime time;
  /** The same for nodes that are told rows which came before them; null until there are any. */
  private Retract telling;

  public Retract(Program.RetractProgram program, NodeContext context) {
    this.program = program;
    this.context = context;
    rows = context.rows(program.relation());
    List<RowWay> judged = new ArrayList<>();
    for (Program.Use use : program.uses()) {
      RowWay groups =
          use instanceof Program.GroupUse group ? RowWay.to(group.target(), context) : null;
      if (groups != null && groups.lateness() != null) {
        judged.add(groups);
      } else if (groups != null) {
        uses.add(RowUse.groupUse(groups));
      } else {
        List<RowUse> alike = use instanceof Program.ChildUse ? apart : uses;
        alike.add(RowUse.of(use, program.relation(), context));
      }
    }
    judging = judged.isEmpty() ? null : new Judging(rows, judged, program.relation(), context);
    arrivals =
        program.judged() == null
            ? null
            : new Arrivals(rows, program.judged(), program.kept(), program.relation(), context);
    keeping = new Keeping(program.kept(), context);
    Integer column = program.judged() == null ? null : program.judged().late().time();
    time = new RowTime(column, rows.visibleColumns());
  }

  @Override
  public void handle(Slice key, List<byte[]> messages, State state, Outbox outbox) {
    if (Message.kind(messages.get(0)) == Message.TELL) {
      tell(key, messages.get(0), state, outbox);
      return;
    }
    long timestamp = Message.timestamp(messages.get(0));
    byte[] stored = state.read();
    RowCell cell = RowCell.read(stored == null ? null : Slice.of(stored));
    if (stored == null) {
      cell.epoch = state.highestForgotten();
    }
    if (isOver(cell)) {
      long epoch = cell.epoch;
      cell = RowCell.read(null);
      cell.epoch = epoch;
    }
    if (stored == null && keeping.forgets() && cell.epoch > 0) {
      cell.beginAnew(timestamp);
    }
    boolean timed = timeOf(cell) != Marks.UNKNOWN;
    Slice before = rows.view(cell);
    List<RawChange> changes = new ArrayList<>(messages.size());
    for (byte[] message : messages) {
      changes.add(RawChange.read(message));
    }
    if (!apply(cell, changes, before, timestamp, outbox)) {
      return;
    }
    state.write(cell.toBytes());
    if (!cell.exists) {
      rows.expireLater(cell, Slice.EMPTY, state);
    }
    if (!timed && timeOf(cell) != Marks.UNKNOWN) {
      keeping.noteRow(timeOf(cell), state);
    }
    Sending sending = new Sending(key.toBytes(), timestamp, outbox);
    if (arrivals != null && !arrivals.formers().isEmpty()) {
      sending.sendAll(arrivals.formers(), before, cell);
    } else {
      sending.sendOne(before, cell);
    }
  }

  /**
   * Tells the row to nodes that know nothing of it, in a batch that changes none. Its epoch rises, so
   * that it is above whatever was forgotten where they are.
   */
  private void tell(Slice key, byte[] message, State state, Outbox outbox) {
    if (telling == null) {
      telling = new Retract(program.from(Message.body(message).readVarInt()), context);
    }
    byte[] stored = state.read();
    RowCell cell = RowCell.read(stored == null ? null : Slice.of(stored));
    if (rows.view(cell) != null) {
      long timestamp = Message.timestamp(message);
      cell.epoch = Math.max(timestamp, cell.epoch + 1);
      state.write(cell.toBytes());
      telling.new Sending(key.toBytes(), timestamp, outbox).sendOne(null, cell);
    }
  }

  /** Tells the uses of a row what a batch made of it. */
  private final class Sending {
    private final byte[] key;
    private final long timestamp;
    private final Outbox outbox;

    Sending(byte[] key, long timestamp, Outbox outbox) {
      this.key = key;
      this.timestamp = timestamp;
      this.outbox = outbox;
    }

    void sendOne(Slice before, RowCell cell) {
      Slice after = rows.view(cell);
      send(uses, before, after, cell.epoch, cell.began, begins(before, cell));
      send(apart, before, after, cell.epoch, cell.began, false);
    }

    /** Where rows were forgotten to changes of their key, and others began. */
    void sendAll(List<Arrivals.Former> formers, Slice before, RowCell cell) {
      Slice known = before;
      for (Arrivals.Former each : formers) {
        send(apart, known, each.row(), each.epoch(), each.began(), false);
        known = null;
      }
      send(apart, null, rows.view(cell), cell.epoch, cell.began, false);
      boolean anew = arrivals.tookPlace() || begins(before, cell);
      send(uses, before, arrivals.standing(cell), cell.epoch, cell.began, anew);
    }

    /** Whether a row came where its uses may still have one that was forgotten before. */
    private boolean begins(Slice before, RowCell cell) {
      return arrivals != null && cell.began != 0 && before == null && arrivals.rowCame();
    }

    /** Uses hear of a row that begins anew also where it went at once: it took another's place. */
    private void send(
        List<RowUse> to, Slice before, Slice after, long epoch, long began, boolean anew) {
      if (!anew && Objects.equals(before, after)) {
        return;
      }
      RowUse.Change change =
          new RowUse.Change(key, before, after, epoch, timestamp, began, anew);
      to.forEach(each -> each.send(change, outbox));
    }
  }

  @Override
  public void trace(Slice key, Slice parent, State state, Tracing tracing) {
    byte[] stored = state.read();
    RowCell cell = RowCell.read(stored == null ? null : Slice.of(stored));
    if (cell.exists) {
      tracing.cell(program.relation(), cell);
    }
  }

  /** {@link Marks#UNKNOWN} also where nothing asks for it. */
  private long timeOf(RowCell cell) {
    return keeping.forgets() && cell.exists ? time.of(rows.derived(cell.row)) : Marks.UNKNOWN;
  }

  private boolean isOver(RowCell cell) {
    return keeping.isOver(timeOf(cell));
  }

  private boolean apply(
      RowCell cell, List<RawChange> changes, Slice before, long timestamp, Outbox outbox) {
    if (arrivals != null) {
      arrivals.begin(timestamp, outbox);
      return rows.apply(cell, changes, arrivals, timestamp, outbox);
    }
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
    if (isOver(cell)) {
      state.forget(cell.epoch);
      return;
    }
    if (Keeping.isTold(entries) && timeOf(cell) != Marks.UNKNOWN) {
      keeping.noteRow(timeOf(cell), state);
    }
    if (cell.known && rows.isOver(cell, timestamp, Slice.EMPTY, state)) {
      state.forget(cell.epoch);
    }
  }
}
