package dev.joinery.kernel.stream;

import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.Event;
import dev.joinery.kernel.node.RowCell;
import dev.joinery.kernel.program.StreamProgram;
import dev.joinery.kernel.state.State;
import dev.joinery.kernel.state.TimedMap;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;

/**
 * What a {@link CurrentLookup} remembers under one key: the row's cell, the events that wait for it
 * by identity, and the recent ones that are sent again when it changes, each with the hash of the
 * fields it was last sent with.
 *
 * <p>Events that wait leave at their own time. Recent ones are forgotten together, an eighth of
 * their time late at most, so that few calls are asked for; one whose time is over is not sent
 * again. Where corrections are periodic, they leave with the first at or after the full period
 * that follows their time.
 */
final class CurrentLookupMemory {
  private static final int WAITING = 0;
  private static final int RECENT = TimedMap.SPACES;

  private final StreamProgram.CurrentLookupProgram program;
  private final RowCell cell;
  private TimedMap waiting;
  private TimedMap recent;
  private long version;
  private Alarm givesUp = new Alarm();
  private Alarm forgets = new Alarm();
  private boolean touched;

  private CurrentLookupMemory(StreamProgram.CurrentLookupProgram program, RowCell cell) {
    this.program = program;
    this.cell = cell;
  }

  static CurrentLookupMemory read(StreamProgram.CurrentLookupProgram program, State state) {
    byte[] stored = state.read();
    if (!program.remembers()) {
      RowCell cell = RowCell.read(stored == null ? null : Slice.of(stored));
      return new CurrentLookupMemory(program, cell);
    }
    ByteReader in = stored == null ? null : new ByteReader(stored);
    CurrentLookupMemory memory =
        new CurrentLookupMemory(program, RowCell.read(in == null ? Slice.EMPTY : in.readBlob()));
    memory.version = in == null ? 0 : in.readLong();
    memory.givesUp = Alarm.read(in);
    memory.forgets = Alarm.read(in);
    memory.waiting = TimedMap.read(in, state, WAITING);
    memory.recent = TimedMap.read(in, state, RECENT);
    return memory;
  }

  void write(State state) {
    if (!touched) {
      return;
    }
    touched = false;
    boolean isEmpty =
        !program.remembers() || waiting.size() == 0 && recent.size() == 0;
    if (!cell.known && isEmpty) {
      state.clear();
      return;
    }
    if (!program.remembers()) {
      state.write(cell.toBytes());
      return;
    }
    ByteWriter out = new ByteWriter(256);
    out.writeBlob(cell.known ? Slice.of(cell.toBytes()) : Slice.EMPTY);
    out.writeLong(version).writeLong(givesUp.time()).writeLong(forgets.time());
    waiting.write(out);
    recent.write(out);
    state.write(out.toBytes());
  }

  RowCell cell() {
    return cell;
  }

  void touch() {
    touched = true;
  }

  /** Events in an order in which many are looked up and remembered fast. */
  List<Event> inPageOrder(List<Event> events) {
    return program.remembers() ? recent.inPageOrder(events, Event::key) : events;
  }

  /** The version of what is sent again now: above all that were sent from here. */
  long nextVersion(long timestamp) {
    touched = true;
    version = Math.max(timestamp, version + 1);
    return version;
  }

  // Events that wait

  /** An event that waited, and until when: it may leave long after its time to wait was over. */
  record Waited(Event event, long until) {}

  void park(Event event, State state) {
    touched = true;
    long until = event.timestamp() + program.waitMicros();
    ByteWriter out = new ByteWriter(event.row().length() + 16);
    event.write(out);
    waiting.put(event.key(), until, Slice.of(out.toBytes()));
    givesUp.at(until, state);
  }

  /**
   * Events that wait, which no longer do: {@code most}, or a few more, where there are so many; in
   * an order that does not depend on the state.
   */
  List<Waited> release(int most, long timestamp) {
    return take(Long.MAX_VALUE, most, timestamp);
  }

  /** Those of them whose time to wait is over. */
  List<Waited> giveUp(int most, long timestamp) {
    return take(timestamp + 1, most, timestamp);
  }

  private List<Waited> take(long before, int most, long timestamp) {
    List<Waited> taken = new ArrayList<>();
    for (TimedMap.Timed each : waiting.takeBefore(before, most)) {
      Event event = Event.kept(each.identity(), new ByteReader(each.value()), timestamp);
      taken.add(new Waited(event, Math.min(timestamp, each.time())));
    }
    touched |= !taken.isEmpty();
    return taken;
  }

  // Events that are sent again

  boolean hasRecent() {
    return recent.size() > 0;
  }

  /** Forgets an event that came again elsewhere; true where it waited. */
  boolean forget(Slice identity) {
    touched |= recent.remove(identity);
    return stopWaiting(identity);
  }

  /**
   * Forgets what is remembered of an event that comes again, true where it waited; {@code kept} is
   * replaced anyway.
   */
  boolean replace(Event event, boolean kept) {
    if (!kept) {
      touched |= recent.remove(event.key());
    }
    return stopWaiting(event.key());
  }

  private boolean stopWaiting(Slice identity) {
    boolean waited = waiting.remove(identity);
    touched |= waited;
    return waited;
  }

  /**
   * Remembers an event that was sent with the fields of this hash, until its time is over.
   *
   * @param since from when on its time counts
   */
  void keep(Event event, long since, long hash, State state) {
    long until = overAt(since + program.forMicros());
    if (until <= event.timestamp()) {
      return;
    }
    touched = true;
    version = Math.max(version, event.version());
    ByteWriter out = new ByteWriter(event.row().length() + 24).writeLong(hash);
    event.write(out);
    recent.put(event.key(), until, Slice.of(out.toBytes()));
    wakeAgain(isPeriodic() ? event.timestamp() : until, state);
  }

  private long overAt(long until) {
    long every = program.everyMicros();
    return isPeriodic() ? -Math.floorDiv(-until, every) * every : until;
  }

  private void wakeAgain(long from, State state) {
    if (isPeriodic() && forgets.time() > 0) {
      return; // The next correction is asked for, and later events do not put it off.
    }
    long round = isPeriodic() ? program.everyMicros() : Alarm.roundOf(program.forMicros());
    forgets.after(from, round, state);
  }

  /** The events whose time is not over, to be sent again; begun after the memory was written. */
  Iterator<Event> recentLater(long timestamp, long correction) {
    return new Iterator<>() {
      private Iterator<TimedMap.Timed> all;
      private TimedMap.Timed next;

      @Override
      public boolean hasNext() {
        if (all == null) {
          all = recent.iterator();
        }
        while (next == null && all.hasNext()) {
          TimedMap.Timed each = all.next();
          next = lasts(each, timestamp) ? each : null;
        }
        return next != null;
      }

      @Override
      public Event next() {
        if (!hasNext()) {
          throw new NoSuchElementException();
        }
        Event found = eventOf(next, timestamp).corrected(timestamp, correction);
        next = null;
        return found;
      }
    };
  }

  /**
   * Some recent events that were last sent with other fields.
   *
   * @param from what {@link Part#next} said, or null for the first
   * @param most how many events are looked at
   */
  Part recentOtherThan(long hash, TimedMap.Timed from, int most, long timestamp) {
    List<TimedMap.Timed> found = new ArrayList<>();
    Iterator<TimedMap.Timed> all = recent.from(from);
    for (int i = 0; i < most && all.hasNext(); i++) {
      TimedMap.Timed each = all.next();
      if (new ByteReader(each.value()).readLong() != hash && lasts(each, timestamp)) {
        found.add(each);
      }
    }
    return new Part(found, all.hasNext() ? all.next() : null);
  }

  /** Some remembered events, and where the next ones begin; null where none are left. */
  record Part(List<TimedMap.Timed> events, TimedMap.Timed next) {}

  static Event eventOf(TimedMap.Timed recent, long timestamp) {
    ByteReader in = new ByteReader(recent.value());
    in.readLong();
    return Event.kept(recent.identity(), in, timestamp);
  }

  private boolean lasts(TimedMap.Timed each, long timestamp) {
    return each.time() > timestamp || isPeriodic();
  }

  /** Remembers that a recent event was sent with the fields of this hash. */
  void sent(TimedMap.Timed each, long hash) {
    byte[] value = each.value().toBytes().clone();
    ByteWriter.LONGS.set(value, 0, hash);
    recent.replace(each, Slice.of(value));
    touched = true;
  }

  /** Whether a periodic correction is due. */
  boolean isDue(long timestamp) {
    return isPeriodic() && forgets.time() > 0 && timestamp >= forgets.time();
  }

  private boolean isPeriodic() {
    return program.everyMicros() > 0;
  }

  /** Forgets the recent events whose time is over; periodic ones only with a correction. */
  void forget(long timestamp, State state) {
    if (isPeriodic() && !isDue(timestamp)) {
      return;
    }
    if (isPeriodic()) {
      forgets.clear();
      touched = true;
    }
    touched |= recent.removeBefore(timestamp + 1);
    if (isPeriodic() && recent.size() > 0) {
      wakeAgain(timestamp, state);
    }
  }
}
