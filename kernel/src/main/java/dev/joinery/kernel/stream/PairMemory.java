package dev.joinery.kernel.stream;

import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.Event;
import dev.joinery.kernel.program.PairEventsProgram;
import dev.joinery.kernel.state.State;
import dev.joinery.kernel.state.TimedMap;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;

/**
 * What a {@link PairEvents} remembers of one join value: the events of both logs by their times.
 *
 * <p>An address that is not met any more is looked at when as much of the clock has passed as its
 * events are kept for; the watermark decides what is forgotten.
 */
final class PairMemory {
  private final PairEventsProgram program;
  private final TimedMap own;
  private final TimedMap other;
  private long lookedAt;
  private boolean touched;

  private PairMemory(PairEventsProgram program, ByteReader in, State state) {
    this.program = program;
    lookedAt = in == null ? 0 : in.readLong();
    own = TimedMap.read(in, state, 0);
    other = TimedMap.read(in, state, TimedMap.SPACES);
  }

  /** An event with its time. */
  record Member(long time, Event event) {}

  static PairMemory read(PairEventsProgram program, State state) {
    byte[] stored = state.read();
    return new PairMemory(program, stored == null ? null : new ByteReader(stored), state);
  }

  void write(long timestamp, State state) {
    if (!touched) {
      return;
    }
    if (own.size() == 0 && other.size() == 0) {
      state.clear();
      return;
    }
    if (lookedAt <= timestamp) {
      lookedAt = timestamp + program.keepMicros();
      state.expireAfter(lookedAt, program.keepMicros(), Slice.EMPTY);
    }
    ByteWriter out = new ByteWriter(1024).writeLong(lookedAt);
    own.write(out);
    other.write(out);
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

  /** Keeps an event in place of the former one of its identity, whose time it returns, or null. */
  Long keep(boolean ofOther, Member each) {
    touched = true;
    TimedMap side = ofOther ? other : own;
    TimedMap.Timed former = side.get(each.event().key());
    ByteWriter out = new ByteWriter(each.event().row().length() + 24);
    each.event().write(out);
    side.put(each.event().key(), each.time(), Slice.of(out.toBytes()));
    return former == null ? null : former.time();
  }

  /** Forgets what no event meets any more that still counts by a horizon. */
  void forgetBefore(long horizon) {
    touched |= own.removeBefore(horizon - program.toMicros());
    touched |= other.removeBefore(horizon + program.fromMicros());
  }

  /** The events of one side of times from one to another, that one included. */
  List<Member> between(boolean ofOther, long from, long to, long timestamp) {
    List<Member> found = new ArrayList<>();
    TimedMap side = ofOther ? other : own;
    if (side.size() == 0) {
      return found;
    }
    Iterator<TimedMap.Timed> all = side.from(from);
    while (all.hasNext()) {
      TimedMap.Timed each = all.next();
      if (each.time() > to) {
        break;
      }
      ByteReader in = new ByteReader(each.value());
      found.add(new Member(each.time(), Event.kept(each.identity(), in, timestamp)));
    }
    return found;
  }
}
