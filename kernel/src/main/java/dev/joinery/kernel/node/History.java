package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.BinaryRow;
import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.KeyCodec;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.Message;
import dev.joinery.kernel.message.Outbox;
import dev.joinery.kernel.message.RawChange;
import dev.joinery.kernel.program.HistoryProgram;
import dev.joinery.kernel.state.Mapped;
import dev.joinery.kernel.state.State;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableSet;
import java.util.Objects;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructField;

/**
 * Remembers, under a relation's key, the versions of its row by their times, and where one shows
 * other than the one before; sends a row from each such place to the next, and a tombstone where
 * none begins any more.
 *
 * <p>A batch looks at the versions that it brings and at those next to them, so it costs what it
 * brings, however many versions there are.
 *
 * <p>All that one batch sends for an address has one version, above all before it. So nothing needs
 * to be remembered of a row that is gone.
 */
public final class History implements Node {
  private static final int VERSIONS = 0;
  private static final int TURNS = 1;

  private final HistoryProgram program;
  private final RelationRows rows;
  private final VersionLog log;
  private final Assembler assembler;
  private final UnsafeRow visible;
  private final KeyCodec address;
  private final UnsafeProjection key;
  private final int keyColumns;
  private final SentDocument last;

  public History(HistoryProgram program, NodeContext context) {
    StructField[] columns = context.program().products().get(program.product()).key().fields();
    DataType[] types =
        Arrays.stream(columns).map(StructField::dataType).toArray(DataType[]::new);
    this.program = program;
    String product = context.productOf(program.assembler());
    Runnable timeless =
        () -> context.counters().product(product, VersionLog.TIMELESS, 1);
    this.rows = context.rows(program.relation());
    this.log =
        new VersionLog(
            rows, program.validFrom(), -1, program.told(), context.counters(), timeless);
    this.assembler = context.assembler(program.assembler());
    this.visible = new UnsafeRow(rows.visibleColumns());
    this.keyColumns = types.length - 1;
    this.address = KeyCodec.of(Arrays.copyOf(types, keyColumns));
    this.key = UnsafeProjection.create(types);
    this.last = new SentDocument(program.product(), context);
  }

  @Override
  public void handle(Slice key, List<byte[]> messages, State state, Outbox outbox) {
    long timestamp = Message.latest(messages);
    Timeline timeline = new Timeline(key, state);
    List<RawChange> changes = new ArrayList<>(messages.size());
    for (byte[] message : messages) {
      if (Message.kind(message) == Message.PENDING) {
        timeline.reopen(Message.body(message));
      } else {
        changes.add(RawChange.read(message));
      }
    }
    NavigableSet<Long> times = new TreeSet<>();
    for (RawChange change : log.inOrder(changes, timestamp, outbox)) {
      if (change.isErasure()) {
        log.erase(timeline.versions, change, times::add);
        continue;
      }
      Long time = log.timeOf(change);
      if (time != null && log.apply(timeline.versions, time, change, timestamp)) {
        times.add(time);
      }
    }
    if (times.isEmpty() && timeline.reopened.isEmpty()) {
      return;
    }
    times.forEach(timeline::turn);
    timeline.send(timestamp, outbox);
    timeline.write(state);
  }

  @Override
  public void show(Slice key, State state, Outbox outbox) {
    Timeline timeline = new Timeline(key, state);
    List<Long> times = timeline.turns.times();
    outbox.later(new Mapped<>(times.iterator(), each -> () -> timeline.show(each, outbox)));
  }

  /** A place where the row that is shown begins, or ends before a time without one. */
  private record Turn(boolean shows, Slice sent) {
    static final Turn END = new Turn(false, Slice.EMPTY);

    static Turn read(Slice bytes) {
      ByteReader in = new ByteReader(bytes);
      return new Turn(in.readByte() == 1, in.rest());
    }

    Slice toBytes() {
      ByteWriter out = new ByteWriter(sent.length() + 1).writeByte(shows ? 1 : 0);
      return Slice.of(out.writeRaw(sent).toBytes());
    }
  }

  /** The versions of one key while a batch is worked on. */
  private final class Timeline {
    private final Object[] columns;
    private final ByTime versions;
    private final ByTime turns;
    private final Map<Long, Slice> shown = new HashMap<>();
    private final NavigableSet<Long> altered = new TreeSet<>();
    private final Map<Long, Slice> gone = new HashMap<>();
    private final Map<Long, byte[]> reopened = new TreeMap<>();
    private long version;

    Timeline(Slice key, State state) {
      byte[] stored = state.read();
      ByteReader in = stored == null ? null : new ByteReader(stored);
      columns = Arrays.copyOf(address.decode(key), keyColumns + 1);
      version = in == null ? state.highestForgotten() : in.readLong();
      versions = ByTime.read(in, state, VERSIONS);
      turns = ByTime.read(in, state, TURNS);
    }

    void write(State state) {
      ByteWriter out = new ByteWriter(256).writeLong(version);
      versions.write(out);
      turns.write(out);
      state.write(out.toBytes());
    }

    /** The sink may hold a row that was never committed. */
    void reopen(ByteReader in) {
      byte[] told = in.rest().toBytes();
      Slice row = new Slice(told, Long.BYTES, told.length - Long.BYTES);
      long time = BinaryRow.of(row, keyColumns + 1).getLong(keyColumns);
      reopened.put(time, told);
      altered.add(time);
    }

    // Where the row that is shown turns into another

    /** Finds again whether the row turns at a version that came, and at the next one. */
    void turn(long time) {
      turnAt(time);
      Long next = versions.firstAbove(time);
      if (next != null) {
        turnAt(next);
      }
    }

    private void turnAt(long time) {
      Long before = versions.lastBelow(time);
      Slice now = contentAt(time);
      boolean turns = !Objects.equals(before == null ? null : contentAt(before), now);
      Slice stored = this.turns.get(time);
      if (turns || stored != null) {
        altered.add(time);
      }
      if (turns != (stored != null)) {
        Long above = this.turns.lastBelow(time);
        if (above != null) {
          altered.add(above); // It is valid until another time.
        }
      }
      if (turns) {
        Slice sent =
            stored == null ? gone.getOrDefault(time, Slice.EMPTY) : Turn.read(stored).sent();
        this.turns.put(time, new Turn(now != null, sent).toBytes());
      } else if (stored != null) {
        gone.put(time, Turn.read(stored).sent());
        this.turns.remove(time);
      }
    }

    /** What tells a version from its neighbours; null where none is shown. */
    private Slice contentAt(long time) {
      return shown.computeIfAbsent(
          time,
          each -> {
            RowCell cell = versions.cell(each);
            cell.row = rows.unmarked(cell.row);
            return documentOf(cell, null, null);
          });
    }

    private Slice documentOf(RowCell cell, Long from, Long until) {
      Slice row = rows.view(cell);
      if (row == null) {
        return null;
      }
      assembler.assemble(row, BinaryRow.point(visible, row), new Object[] {from, until});
      return assembler.row();
    }

    // Sending

    void send(long timestamp, Outbox outbox) {
      long highest = version;
      for (long time : altered) {
        Slice stored = turns.get(time);
        Turn turn =
            stored == null
                ? new Turn(false, gone.getOrDefault(time, Slice.EMPTY))
                : Turn.read(stored);
        last.read(turn.sent().isEmpty() ? null : new ByteReader(turn.sent()));
        last.beginAbove(version);
        if (reopened.containsKey(time)) {
          last.reopen(new ByteReader(reopened.get(time), 0, reopened.get(time).length));
        }
        if (turn.shows()) {
          last.send(SentDocument.Next.of(documentAt(time), 0), () -> keyOf(time), timestamp, outbox);
          turns.put(time, new Turn(true, sent()).toBytes());
        } else {
          last.sendGone(() -> keyOf(time), timestamp, outbox);
          if (stored != null) {
            turns.put(time, Turn.END.toBytes());
          }
        }
        highest = Math.max(highest, last.version());
      }
      version = highest;
    }

    void show(long time, Outbox outbox) {
      Turn turn = Turn.read(turns.get(time));
      if (turn.shows() && !turn.sent().isEmpty()) {
        last.read(new ByteReader(turn.sent()));
        last.beginAbove(0); // What is kept may be above the version that it was sent under.
        last.show(SentDocument.Next.of(documentAt(time), 0), () -> keyOf(time), outbox);
      }
    }

    private Slice documentAt(long time) {
      return documentOf(versions.cell(time), time, turns.firstAbove(time));
    }

    private Slice sent() {
      ByteWriter out = new ByteWriter(24);
      last.write(out);
      return Slice.of(out.toBytes());
    }

    private Slice keyOf(long time) {
      columns[keyColumns] = time;
      return BinaryRow.copy(key.apply(new GenericInternalRow(columns)));
    }
  }
}
