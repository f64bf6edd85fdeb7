package dev.joinery.kernel.stream;

import dev.joinery.kernel.bytes.BinaryRow;
import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.KeyCodec;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.Counters;
import dev.joinery.kernel.message.Event;
import dev.joinery.kernel.message.EventLetter;
import dev.joinery.kernel.message.Marks;
import dev.joinery.kernel.message.Message;
import dev.joinery.kernel.message.Outbox;
import dev.joinery.kernel.message.RawChange;
import dev.joinery.kernel.node.Node;
import dev.joinery.kernel.node.NodeContext;
import dev.joinery.kernel.node.RelationRows;
import dev.joinery.kernel.program.Program;
import dev.joinery.kernel.program.StreamProgram;
import dev.joinery.kernel.state.State;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;

/**
 * A stream's lookup of the row that was valid at the event's time: remembers, for a share of a
 * table's keys, the versions of their rows that an event may still meet, how far the table's log has
 * come, and the events whose answer is not final yet; sends each event on with what it met.
 *
 * <p>A version is a row from its time on, until the next of its key. An answer is final once the
 * table's watermark is past the event's time: every address hears of it, whichever keys changed. A
 * version that stands behind the watermark of its partition, or behind what all others have reached,
 * is used from that watermark on only. So an answer that was final stays so.
 */
public final class AsOf implements Node {
  static final String NO_TIME = "event_without_time";
  static final String TOO_LATE = "event_too_late";

  /** How many events are answered before what was sent for them is taken. */
  private static final int AT_ONCE = 4096;

  private final StreamProgram.AsOfProgram program;
  private final Counters counters;
  private final RelationRows rows;
  private final TableFields fields;
  private final KeyCodec on;
  private final KeyCodec table;
  private final UnsafeRow event;
  private final UnsafeRow decoded;
  private final UnsafeRow visible;
  private final List<Onward> onward;
  private final EventLetter letters;
  private final String noTime;
  private final String tooLate;
  private final String noRow;

  public AsOf(StreamProgram.AsOfProgram program, NodeContext context) {
    Program.RelationProgram relation = context.program().relations().get(program.relation());
    this.program = program;
    this.counters = context.counters();
    this.rows = context.rows(program.relation());
    this.fields =
        new TableFields(program.fields(), rows.visibleColumns(), program.owner(), context);
    this.on = program.on().codec(NodeContext.slotsOf(program.event()));
    this.table = program.table().codec(relation.columns());
    this.event = new UnsafeRow(program.event().length());
    this.decoded = new UnsafeRow(relation.columns().size());
    this.visible = new UnsafeRow(rows.visibleColumns());
    this.onward = program.onward().stream().map(each -> new Onward(each, context)).toList();
    this.letters = new EventLetter(program.owner(), program.key(), program.event());
    String column = program.event().fields()[program.eventTime()].name();
    this.noTime = "Its column " + column + " is null.";
    this.tooLate = "It is further behind " + rows.name() + " than its versions are kept.";
    this.noRow = "No row of " + rows.name() + " was valid at its time.";
  }

  /** What one call works with. */
  private final class Work {
    final AsOfMemory memory;
    final State state;
    final Outbox outbox;
    final long timestamp;
    final Map<Slice, Versions> versions = new HashMap<>();
    final Map<Slice, Long> changedFrom = new LinkedHashMap<>();

    Work(State state, Outbox outbox, long timestamp) {
      this.memory = AsOfMemory.read(program, state);
      this.state = state;
      this.outbox = outbox;
      this.timestamp = timestamp;
    }

    long finalBefore() {
      return memory.clock().finalBefore(timestamp);
    }

    Versions versionsOf(Slice key) {
      return versions.computeIfAbsent(key, memory::versions);
    }

    TableFields.Answer answer(Slice key, long time) {
      Slice row = versionsOf(key).at(time);
      return row == null ? fields.none() : fields.over(rows.view(row));
    }
  }

  /**
   * A change of the table, and where it stands in its log.
   *
   * @param before the newest time that its task read in the partition before it
   */
  private record Told(RawChange change, long partition, long before) {
    static Told read(ByteReader in) {
      long partition = in.readVarLong();
      long before = in.readLong();
      return new Told(RawChange.read(in), partition, before);
    }

    /** The watermark of its partition before this change. */
    long watermark(TableClock clock, Marks marks) {
      long earlier = marks.newestBefore(partition, change.major(), change.minor());
      return clock.watermarkBefore(partition, Math.max(before, earlier));
    }
  }

  @Override
  public void handle(Slice bucket, List<byte[]> messages, State state, Outbox outbox) {
    Work work = new Work(state, outbox, Message.latest(messages));
    Map<Slice, List<Told>> changes = new LinkedHashMap<>();
    List<Event> events = new ArrayList<>();
    Marks marks = new Marks();
    for (byte[] message : messages) {
      switch (Message.kind(message)) {
        case Message.VERSION -> {
          Told told = Told.read(Message.body(message));
          byte[] key = table.encode(BinaryRow.point(decoded, told.change().row()));
          changes.computeIfAbsent(Slice.of(key), each -> new ArrayList<>(2)).add(told);
        }
        case Message.WATERMARK -> marks.read(Message.body(message));
        case Message.FORGET -> {
          ByteReader in = Message.body(message);
          forget(in.readLong(), in.rest(), work);
        }
        case Message.EVENT -> events.add(Event.read(message));
        default -> throw Message.unexpected(message);
      }
    }
    apply(changes, marks, work);
    work.memory.hear(marks, work.timestamp);
    events.forEach(each -> closeEarlier(each, work));
    work.changedFrom.forEach((key, from) -> correct(key, from, work));
    events.forEach(each -> arrive(each, work));
    finish(work);
  }

  @Override
  public void wake(Slice key, long timestamp, State state, Outbox outbox) {
    Work work = new Work(state, outbox, timestamp);
    work.memory.hear(new Marks(), timestamp);
    finish(work);
  }

  private void finish(Work work) {
    boolean more = settle(work);
    work.memory.wakeIfIdle(work.timestamp, work.state);
    work.memory.write(work.state);
    if (more) {
      work.outbox.repeat(() -> settleMore(work.state, work.outbox, work.timestamp));
    }
  }

  private boolean settleMore(State state, Outbox outbox, long timestamp) {
    Work work = new Work(state, outbox, timestamp);
    boolean more = settle(work);
    work.memory.write(state);
    return more;
  }

  // The table's rows

  private void apply(Map<Slice, List<Told>> changes, Marks marks, Work work) {
    for (Slice key : work.memory.inPageOrder(changes.keySet())) {
      List<Told> ofKey = changes.get(key);
      ofKey.sort(Comparator.comparing(Told::change));
      Versions versions = work.versionsOf(key);
      long from = Long.MAX_VALUE;
      for (Told each : ofKey) {
        TableClock clock = work.memory.clock();
        long own = each.watermark(clock, marks);
        from = Math.min(from, apply(each.change(), own, clock.watermark(), versions));
      }
      if (from < Long.MAX_VALUE) {
        if (program.historyMicros() >= 0) {
          versions.forgetBefore(work.memory.clock().before(program.historyMicros()));
        }
        work.changedFrom.put(key, from);
        work.memory.put(key, versions);
      }
    }
  }

  /**
   * Returns from which time on answers may be others; the greatest number where none is.
   *
   * @param own the watermark of the partition before the change, {@code all} of the table before the
   *     batch
   */
  private long apply(RawChange change, long own, long all, Versions versions) {
    if (change.op() != Message.OP_UPSERT) {
      count(change, "ignored_deletes");
      return Long.MAX_VALUE;
    }
    BinaryRow.point(visible, rows.derived(change.row()));
    if (visible.isNullAt(program.validFrom())) {
      count(change, "versions_without_time");
      return Long.MAX_VALUE;
    }
    long since = visible.getLong(program.validFrom());
    if (since < own) {
      count(change, "late_versions");
    } else if (since < all) {
      count(change, "overtaken_versions");
    }
    Slice merged = rows.merged(versions.before(since), change);
    long position = change.positioned() ? change.position() : 0;
    long usedFrom = Math.max(since, Math.max(own, all));
    return versions.put(since, position, usedFrom, merged) ? usedFrom : Long.MAX_VALUE;
  }

  private void count(RawChange change, String counter) {
    if (change.isPrimary()) {
      counters.relation(rows.name(), counter, 1);
    }
  }

  // Events

  /** An event that comes again takes the place of the one that is open, under the same time. */
  private void closeEarlier(Event each, Work work) {
    BinaryRow.point(event, each.row());
    if (!each.passing() && !event.isNullAt(program.eventTime())) {
      forget(event.getLong(program.eventTime()), each.key(), work);
    }
  }

  private void forget(long time, Slice identity, Work work) {
    if (work.memory.close(time, identity)) {
      counters.product(program.owner(), "superseded", 1);
    }
  }

  private void arrive(Event each, Work work) {
    BinaryRow.point(event, each.row());
    if (event.isNullAt(program.eventTime())) {
      work.outbox.emit(letters.of(each, NO_TIME, noTime));
      return;
    }
    long time = event.getLong(program.eventTime());
    if (program.historyMicros() >= 0
        && time < work.memory.clock().before(program.historyMicros())) {
      work.outbox.emit(letters.of(each, TOO_LATE, tooLate));
      return;
    }
    boolean joins = !on.anyNull(event);
    Slice key = Slice.of(on.encode(event));
    if (!joins || time < work.finalBefore()) {
      answer(each, joins ? work.answer(key, time) : fields.none(), work);
    } else if (each.passing()) {
      pass(each, key, time, work);
    } else if (program.corrects()) {
      TableFields.Answer now = work.answer(key, time);
      work.memory.keepSent(each, key, time, now);
      sendOn(each, now, work);
    } else {
      work.memory.hold(each, key, time);
    }
  }

  /** Sends an event that is not remembered as it is now, unless it would be held. */
  private void pass(Event each, Slice key, long time, Work work) {
    if (program.corrects()) {
      sendOn(each, work.answer(key, time), work);
    } else {
      counters.product(program.owner(), "superseded", 1);
    }
  }

  /** Sends an event with its last answer. */
  private void answer(Event each, TableFields.Answer met, Work work) {
    if (!met.found()) {
      counters.product(program.owner(), "lookup_misses", 1);
      if (program.miss() == StreamProgram.Miss.DROP) {
        counters.product(program.owner(), "events_dropped", 1);
        return;
      }
      if (program.miss() == StreamProgram.Miss.DEAD_LETTER) {
        work.outbox.emit(letters.of(each, CurrentLookup.REASON, noRow));
        return;
      }
    }
    sendOn(each, met, work);
  }

  private void sendOn(Event each, TableFields.Answer met, Work work) {
    for (Onward next : onward) {
      next.send(each, met.values(), work.outbox);
    }
  }

  /** Closes events whose answer is final, sending those that waited; returns whether more are. */
  private boolean settle(Work work) {
    List<AsOfMemory.Open> closed =
        work.memory.takeBefore(work.finalBefore(), AT_ONCE, work.timestamp);
    for (AsOfMemory.Open each : closed) {
      if (!each.sent()) {
        answer(each.event(), work.answer(each.key(), each.time()), work);
      }
    }
    return closed.size() >= AT_ONCE;
  }

  /** Sends the open events of a key again whose answer is another now. */
  private void correct(Slice key, long from, Work work) {
    if (!program.corrects()) {
      return;
    }
    for (AsOfMemory.Open each : work.memory.sentFor(key, from, work.timestamp)) {
      TableFields.Answer now = work.answer(key, each.time());
      if (now.hash() != each.hash()) {
        counters.product(program.owner(), "corrections", 1);
        long version = work.memory.nextVersion(work.timestamp);
        sendOn(each.event().corrected(work.timestamp, version), now, work);
        work.memory.keepSent(each.event(), key, each.time(), now);
      }
    }
  }
}
