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
 * Remembers, under a relation's key, the versions of its row by their times, the rows that are known
 * of them now, each with what it shows and since when, and those that the last change to become
 * known has altered as they were before; sends each row that comes to be known, and each again once
 * it is known no more.
 *
 * <p>Changes are taken one by one, since each became known at a time of its own. What stood before
 * the last such time can still be restored by a change of the same time, and nothing before that: so
 * a row that was known until earlier is sent and not remembered.
 */
public final class KnownHistory implements Node {
  private static final int VERSIONS = 0;
  private static final int TURNS = 1;
  private static final int ROWS = 2;
  private static final Slice SHOWS = Slice.of(new byte[] {1});
  private static final Slice ENDS = Slice.of(new byte[] {0});

  private final RelationRows rows;
  private final VersionLog log;
  private final Assembler assembler;
  private final UnsafeRow visible;
  private final KeyCodec address;
  private final UnsafeProjection key;
  private final int keyColumns;
  private final SentDocument last;

  public KnownHistory(HistoryProgram program, NodeContext context) {
    StructField[] columns = context.program().products().get(program.product()).key().fields();
    DataType[] types =
        Arrays.stream(columns).map(StructField::dataType).toArray(DataType[]::new);
    String product = context.productOf(program.assembler());
    Runnable timeless =
        () -> context.counters().product(product, VersionLog.TIMELESS, 1);
    this.rows = context.rows(program.relation());
    this.log =
        new VersionLog(
            rows,
            program.validFrom(),
            program.known(),
            program.told(),
            context.counters(),
            timeless);
    this.assembler = context.assembler(program.assembler());
    this.visible = new UnsafeRow(rows.visibleColumns());
    this.keyColumns = types.length - 2;
    this.address = KeyCodec.of(Arrays.copyOf(types, keyColumns));
    this.key = UnsafeProjection.create(types);
    this.last = new SentDocument(program.product(), context);
  }

  @Override
  public void handle(Slice key, List<byte[]> messages, State state, Outbox outbox) {
    long timestamp = Message.latest(messages);
    Knowledge knowledge = new Knowledge(key, state);
    List<RawChange> changes = new ArrayList<>(messages.size());
    List<ByteReader> pending = new ArrayList<>();
    for (byte[] message : messages) {
      if (Message.kind(message) == Message.PENDING) {
        pending.add(Message.body(message));
      } else {
        changes.add(RawChange.read(message));
      }
    }
    boolean stands = false;
    for (RawChange change : log.inOrder(changes, timestamp, outbox)) {
      Long time = log.timeOf(change);
      if (time != null) {
        long known = log.knownOf(change);
        if (log.apply(knowledge.versions, time, change, timestamp)) {
          knowledge.learn(time, known);
          stands = true;
        }
      }
    }
    pending.forEach(knowledge::reopen);
    if (stands || !pending.isEmpty()) {
      knowledge.send(timestamp, outbox);
      knowledge.write(state);
    }
  }

  /**
   * A row that is or was known.
   *
   * @param since when it became known
   * @param until when it is valid; null for no end
   * @param sent what it was last sent as; empty for not at all
   * @param row as products see it
   */
  private record Known(long since, Long until, Slice sent, Slice row) {
    static Known read(Slice bytes) {
      if (bytes == null || bytes.isEmpty()) {
        return null;
      }
      ByteReader in = new ByteReader(bytes);
      long since = in.readLong();
      Long until = in.readByte() == 0 ? null : (Long) in.readLong();
      return new Known(since, until, in.readBlob(), in.rest());
    }

    static Slice bytesOf(Known known) {
      if (known == null) {
        return Slice.EMPTY;
      }
      ByteWriter out = new ByteWriter(known.row.length() + known.sent.length() + 32);
      out.writeLong(known.since).writeByte(known.until == null ? 0 : 1);
      if (known.until != null) {
        out.writeLong(known.until);
      }
      return Slice.of(out.writeBlob(known.sent).writeRaw(known.row).toBytes());
    }

    Known with(Slice nowSent) {
      return new Known(since, until, nowSent, row);
    }
  }

  /** A row as it is sent: what tells it apart. */
  private record Place(long from, long since) implements Comparable<Place> {
    @Override
    public int compareTo(Place other) {
      int byFrom = Long.compare(from, other.from);
      return byFrom != 0 ? byFrom : Long.compare(since, other.since);
    }
  }

  /** What a row is now: {@code known} until a time, null for now; or none any more. */
  private record Standing(Slice sent, Known known, Long until) {}

  /** What is known of one key while a batch is worked on. */
  private final class Knowledge {
    private final Object[] columns;
    private final ByTime versions;
    private final ByTime turns;
    private final ByTime known;

    /** As it was before {@link #at}, by the time from which it is valid; null for none. */
    private final Map<Long, Known> before = new TreeMap<>();

    private final Map<Long, Slice> shown = new HashMap<>();
    private final Map<Place, Standing> altered = new TreeMap<>();
    private final Map<Place, byte[]> reopened = new HashMap<>();
    private long version;

    /** When the last change became known. */
    private long at;

    Knowledge(Slice key, State state) {
      byte[] stored = state.read();
      ByteReader in = stored == null ? null : new ByteReader(stored);
      columns = Arrays.copyOf(address.decode(key), keyColumns + 2);
      version = in == null ? state.highestForgotten() : in.readLong();
      at = in == null ? Long.MIN_VALUE : in.readLong();
      int count = in == null ? 0 : in.readVarInt();
      for (int i = 0; i < count; i++) {
        long from = in.readLong();
        before.put(from, Known.read(in.readBlob()));
      }
      versions = ByTime.read(in, state, VERSIONS);
      turns = ByTime.read(in, state, TURNS);
      known = ByTime.read(in, state, ROWS);
    }

    void write(State state) {
      ByteWriter out = new ByteWriter(256).writeLong(version).writeLong(at);
      out.writeVarInt(before.size());
      before.forEach((from, each) -> out.writeLong(from).writeBlob(Known.bytesOf(each)));
      versions.write(out);
      turns.write(out);
      known.write(out);
      state.write(out.toBytes());
    }

    // What a change alters

    /** Finds what is known since a change of a time was taken. */
    void learn(long time, long since) {
      if (since > at) {
        at = since;
        before.clear();
      }
      shown.clear();
      NavigableSet<Long> begun = new TreeSet<>();
      turnAt(time, begun);
      Long next = versions.firstAbove(time);
      if (next != null) {
        turnAt(next, begun);
      }
      begun.forEach(this::settle);
    }

    /** Finds again whether the row turns at a version; adds where it begins that is altered. */
    private void turnAt(long time, NavigableSet<Long> begun) {
      Long earlier = versions.lastBelow(time);
      Slice now = contentAt(time);
      boolean turned = !Objects.equals(earlier == null ? null : contentAt(earlier), now);
      boolean stored = turns.get(time) != null;
      if (turned || stored) {
        begun.add(time);
      }
      if (turned != stored) {
        Long above = turns.lastBelow(time);
        if (above != null) {
          begun.add(above); // It is valid until another time.
        }
      }
      if (turned) {
        turns.put(time, now != null ? SHOWS : ENDS);
      } else if (stored) {
        turns.remove(time);
      }
    }

    /** What tells a version from its neighbours; null where none is shown. */
    private Slice contentAt(long time) {
      return shown.computeIfAbsent(
          time,
          each -> {
            Slice row = rows.view(versions.cell(each));
            return row == null ? null : documentOf(row, null, null, null, null);
          });
    }

    private Slice documentOf(Slice row, Long from, Long until, Long since, Long knownUntil) {
      Object[] times = {from, until, since, knownUntil};
      assembler.assemble(row, BinaryRow.point(visible, row), times);
      return assembler.row();
    }

    private void settle(long from) {
      Known old = Known.read(known.get(from));
      if (!before.containsKey(from)) {
        before.put(from, old);
      }
      Known now = SHOWS.equals(turns.get(from)) ? knownAt(from) : null;
      if (old != null && (now == null || now.since() != old.since())) {
        Known stays = old.since() == at ? null : old;
        put(new Place(from, old.since()), new Standing(old.sent(), stays, at));
      }
      if (now == null) {
        known.remove(from);
      } else {
        put(new Place(from, now.since()), new Standing(now.sent(), now, null));
        known.put(from, Known.bytesOf(now));
      }
    }

    private void put(Place place, Standing standing) {
      Standing noted = altered.get(place);
      Slice sent = noted == null ? standing.sent() : noted.sent();
      altered.put(place, new Standing(sent, standing.known(), standing.until()));
    }

    /** The row that begins at a time: the one before the last change, where it is that again. */
    private Known knownAt(long from) {
      Slice row = rows.view(versions.cell(from));
      Long until = turns.firstAbove(from);
      Known base = before.get(from);
      boolean same =
          base != null
              && Objects.equals(base.until(), until)
              && documentOf(base.row(), null, null, null, null)
                  .equals(documentOf(row, null, null, null, null));
      if (same) {
        return base;
      }
      Standing noted = altered.get(new Place(from, at));
      Known old = Known.read(known.get(from));
      Slice sent = noted != null ? noted.sent() : Slice.EMPTY;
      boolean going = noted == null && old != null && old.since() == at;
      return new Known(at, until, going ? old.sent() : sent, row);
    }

    // Sending

    /** The sink may hold a row that was never committed. */
    void reopen(ByteReader in) {
      byte[] told = in.rest().toBytes();
      Slice row = new Slice(told, Long.BYTES, told.length - Long.BYTES);
      UnsafeRow found = BinaryRow.of(row, keyColumns + 2);
      Place place = new Place(found.getLong(keyColumns), found.getLong(keyColumns + 1));
      reopened.put(place, told);
      if (altered.containsKey(place)) {
        return;
      }
      Known now = Known.read(known.get(place.from()));
      Known was = before.get(place.from());
      if (now != null && now.since() == place.since()) {
        altered.put(place, new Standing(now.sent(), now, null));
      } else if (was != null && was.since() == place.since()) {
        altered.put(place, new Standing(was.sent(), was, at));
      } else {
        altered.put(place, new Standing(Slice.EMPTY, null, null));
      }
    }

    void send(long timestamp, Outbox outbox) {
      long highest = version;
      for (Map.Entry<Place, Standing> each : altered.entrySet()) {
        sendOne(each.getKey(), each.getValue(), timestamp, outbox);
        highest = Math.max(highest, last.version());
      }
      version = highest;
    }

    private void sendOne(Place place, Standing standing, long timestamp, Outbox outbox) {
      last.read(standing.sent().isEmpty() ? null : new ByteReader(standing.sent()));
      last.beginAbove(version);
      byte[] told = reopened.get(place);
      if (told != null) {
        last.reopen(new ByteReader(told, 0, told.length));
      }
      Known row = standing.known();
      if (row == null) {
        last.sendGone(() -> keyOf(place), timestamp, outbox);
        return;
      }
      Slice document =
          documentOf(row.row(), place.from(), row.until(), place.since(), standing.until());
      last.send(SentDocument.Next.of(document, 0), () -> keyOf(place), timestamp, outbox);
      note(place, row.with(last.isIdle() ? Slice.EMPTY : sent()));
    }

    /** Keeps what a row was sent as where it may be sent again. */
    private void note(Place place, Known row) {
      Known was = before.get(place.from());
      if (was != null && was.since() == place.since()) {
        before.put(place.from(), was.with(row.sent()));
      }
      Known now = Known.read(known.get(place.from()));
      if (now != null && now.since() == place.since()) {
        known.put(place.from(), Known.bytesOf(now.with(row.sent())));
      }
    }

    private Slice sent() {
      ByteWriter out = new ByteWriter(24);
      last.write(out);
      return Slice.of(out.toBytes());
    }

    private Slice keyOf(Place place) {
      columns[keyColumns] = place.from();
      columns[keyColumns + 1] = place.since();
      return BinaryRow.copy(key.apply(new GenericInternalRow(columns)));
    }
  }
}
