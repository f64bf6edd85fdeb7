package dev.joinery.kernel.stream;

import dev.joinery.kernel.bytes.BinaryRow;
import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.KeyCodec;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.Event;
import dev.joinery.kernel.message.EventLetter;
import dev.joinery.kernel.message.Marks;
import dev.joinery.kernel.message.Message;
import dev.joinery.kernel.message.Outbox;
import dev.joinery.kernel.node.Node;
import dev.joinery.kernel.node.LogWatermark;
import dev.joinery.kernel.node.NodeContext;
import dev.joinery.kernel.program.StreamProgram;
import dev.joinery.kernel.state.State;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;

/**
 * Tells of each event of a stream whether one of the same value stands before it in the log, near
 * its time: remembers the value's times, of those that are near one another the first and the last.
 *
 * <p>A time is near to one of such a run exactly where it is near to its ends or between them, so
 * nothing is told that is not so. A batch's events are asked in the order of their log.
 */
public final class Seen implements Node {
  private static final Comparator<Event.Place> BY_PLACE =
      Comparator.nullsFirst(Comparator.naturalOrder());

  private final StreamProgram.SeenProgram program;
  private final LogWatermark watermark;
  private final KeyCodec by;
  private final UnsafeRow event;
  private final List<Onward> onward;
  private final EventLetter letters;
  private final String noTime;

  public Seen(StreamProgram.SeenProgram program, NodeContext context) {
    this.program = program;
    this.watermark = new LogWatermark(program.logs(), context);
    this.by = program.by().codec(NodeContext.slotsOf(program.event()));
    this.event = new UnsafeRow(program.event().length());
    this.onward = program.onward().stream().map(each -> new Onward(each, context)).toList();
    this.letters =
        new EventLetter(program.owner(), program.key(), program.event(), program.hidden());
    this.noTime = "Its column " + program.event().fields()[program.eventTime()].name() + " is null.";
  }

  /** The first and the last of times that are near one another. */
  private record Run(long first, long last) {}

  @Override
  public void handle(Slice key, List<byte[]> messages, State state, Outbox outbox) {
    long timestamp = Message.latest(messages);
    List<Event> events = new ArrayList<>(messages.size());
    for (byte[] message : messages) {
      if (Message.kind(message) != Message.EVENT) {
        throw Message.unexpected(message);
      }
      events.add(Event.read(message));
    }
    events.sort(Comparator.comparing(Event::place, BY_PLACE).thenComparing(Event::key));
    byte[] stored = state.read();
    List<Run> runs = read(stored);
    boolean touched = forget(runs);
    for (Event each : events) {
      touched |= ask(each, runs, outbox);
    }
    if (touched) {
      write(runs, stored, timestamp, state);
    }
  }

  @Override
  public void expire(Slice key, List<Slice> entries, long timestamp, State state) {
    byte[] stored = state.read();
    if (stored == null || new ByteReader(stored).readLong() > timestamp) {
      return; // It is looked at later: another call was asked for since.
    }
    List<Run> runs = read(stored);
    forget(runs);
    write(runs, null, timestamp, state);
  }

  /** Sends an event with whether it was seen, and returns whether that is remembered. */
  private boolean ask(Event each, List<Run> runs, Outbox outbox) {
    BinaryRow.point(event, each.row());
    if (event.isNullAt(program.eventTime())) {
      outbox.emit(letters.of(each, AsOf.NO_TIME, noTime));
      return false;
    }
    long time = event.getLong(program.eventTime());
    if (time < watermark.before(program.forMicros())) {
      outbox.emit(letters.of(each, AsOf.TOO_LATE, Rolling.TOO_LATE));
      return false;
    }
    boolean known = !by.anyNull(event);
    boolean seen = known && note(time, runs);
    for (Onward next : onward) {
      next.send(each, new Object[] {seen}, outbox);
    }
    return known;
  }

  /** Joins a time with the runs it is near to; returns whether there was any. */
  private boolean note(long time, List<Run> runs) {
    long first = time;
    long last = time;
    boolean near = false;
    for (int at = runs.size() - 1; at >= 0; at--) {
      Run each = runs.get(at);
      if (each.first() - program.forMicros() < time && time < each.last() + program.forMicros()) {
        first = Math.min(first, each.first());
        last = Math.max(last, each.last());
        runs.remove(at);
        near = true;
      }
    }
    runs.add(new Run(first, last));
    return near;
  }

  // What is remembered

  /** Forgets what no event is near to that still counts; returns whether there was any. */
  private boolean forget(List<Run> runs) {
    long over = watermark.before(2 * program.forMicros());
    return over != Marks.UNKNOWN && runs.removeIf(each -> each.last() <= over);
  }

  private static List<Run> read(byte[] stored) {
    List<Run> runs = new ArrayList<>(1);
    if (stored != null) {
      ByteReader in = new ByteReader(stored);
      in.readLong();
      while (in.hasMore()) {
        runs.add(new Run(in.readLong(), in.readLong()));
      }
    }
    return runs;
  }

  /** Writes runs, and has a value that nothing comes for looked at by the clock. */
  private void write(List<Run> runs, byte[] before, long timestamp, State state) {
    if (runs.isEmpty()) {
      state.clear();
      return;
    }
    long lookedAt = before == null ? 0 : new ByteReader(before).readLong();
    if (lookedAt <= timestamp) {
      lookedAt = timestamp + 2 * program.forMicros();
      state.expireAfter(lookedAt, 2 * program.forMicros(), Slice.EMPTY);
    }
    ByteWriter out = new ByteWriter(8 + 16 * runs.size()).writeLong(lookedAt);
    for (Run each : runs) {
      out.writeLong(each.first()).writeLong(each.last());
    }
    state.write(out.toBytes());
  }
}
