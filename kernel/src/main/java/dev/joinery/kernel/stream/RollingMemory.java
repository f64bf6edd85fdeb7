package dev.joinery.kernel.stream;

import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.Event;
import dev.joinery.kernel.program.StreamProgram;
import dev.joinery.kernel.state.EntryMap;
import dev.joinery.kernel.state.OrderedMap;
import dev.joinery.kernel.state.State;
import dev.joinery.kernel.state.TimedMap;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;

/**
 * What a {@link Rolling} remembers of one key: its events in the order of their times, each with
 * the hash of the values that it was last sent with.
 *
 * <p>An address that is not met any more is looked at when as much of the clock has passed as its
 * events are kept for; the watermark decides what is forgotten.
 */
final class RollingMemory {
  private static final int EVENTS = 0;

  private final StreamProgram.RollingProgram program;
  private final OrderedMap events;
  private long version;
  private long lookedAt;
  private boolean touched;

  private RollingMemory(StreamProgram.RollingProgram program, ByteReader in, State state) {
    this.program = program;
    version = in == null ? 0 : in.readLong();
    lookedAt = in == null ? 0 : in.readLong();
    events = OrderedMap.read(in, state, EVENTS);
  }

  /** An event that others see; {@code hash} is of the values it was last sent with. */
  record Member(long time, Event event, long hash) {
    private Slice place() {
      return TimedMap.keyOf(time, event.key());
    }
  }

  static RollingMemory read(StreamProgram.RollingProgram program, State state) {
    byte[] stored = state.read();
    return new RollingMemory(program, stored == null ? null : new ByteReader(stored), state);
  }

  void write(long timestamp, State state) {
    if (!touched) {
      return;
    }
    if (events.size() == 0) {
      state.clear();
      return;
    }
    if (lookedAt <= timestamp) {
      lookedAt = timestamp + program.keepMicros();
      state.expireAfter(lookedAt, program.keepMicros(), Slice.EMPTY);
    }
    ByteWriter out = new ByteWriter(1024).writeLong(version).writeLong(lookedAt);
    events.write(out);
    state.write(out.toBytes());
  }

  /** Whether the look that was asked for last is still to come. */
  boolean isLookedAtAfter(long timestamp) {
    return lookedAt > timestamp;
  }

  /** After the look that was asked for: what is left is looked at once more. */
  void lookAgain() {
    touched = true;
    lookedAt = 0;
  }

  /** A version above all that were sent of this key's events. */
  long nextVersion(long timestamp) {
    touched = true;
    version = Math.max(timestamp, version + 1);
    return version;
  }

  void keep(Member each) {
    touched = true;
    version = Math.max(version, each.event().version());
    ByteWriter out = new ByteWriter(each.event().row().length() + 24).writeLong(each.hash());
    each.event().write(out);
    events.put(each.place(), Slice.of(out.toBytes()));
  }

  /** Returns whether the event was remembered under this time. */
  boolean remove(long time, Slice identity) {
    boolean removed = events.remove(TimedMap.keyOf(time, identity));
    touched |= removed;
    return removed;
  }

  void forgetBefore(long time) {
    touched |= !events.takeBelow(TimedMap.startOf(time), Integer.MAX_VALUE).isEmpty();
  }

  /** The events of times from one on and before another, the earliest first. */
  List<Member> between(long from, long to, long timestamp) {
    List<Member> found = new ArrayList<>();
    if (events.size() == 0) {
      return found;
    }
    Iterator<EntryMap.Entry> all = events.from(TimedMap.startOf(from));
    while (all.hasNext()) {
      EntryMap.Entry each = all.next();
      long time = TimedMap.timeOf(each.key());
      if (time >= to) {
        break;
      }
      ByteReader in = new ByteReader(each.value());
      long hash = in.readLong();
      Event event = Event.kept(TimedMap.identityOf(each.key()), in, timestamp);
      found.add(new Member(time, event, hash));
    }
    return found;
  }
}
