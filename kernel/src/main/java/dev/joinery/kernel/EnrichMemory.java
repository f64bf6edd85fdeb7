package dev.joinery.kernel;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.function.LongPredicate;

/**
 * What an {@link Enrich} remembers under one key: the row's cell, the events that wait for it by
 * identity, and the recent ones that are sent again when it changes, each with the hash of the
 * fields it was last sent with.
 *
 * <p>Events that wait leave at their own time. Recent ones are forgotten together, an eighth of
 * their time late at most, so that what is kept is gone through few times; one whose time is over
 * is not sent again. Where corrections are periodic, they leave with the first after their time.
 */
final class EnrichMemory {
  private static final int WAITING = 0;
  private static final int RECENT = 1;
  private static final long LEAST_ROUND_MICROS = 1_000_000;

  private final Program.EnrichProgram program;
  private final RowCell cell;
  private EntryMap waiting;
  private EntryMap recent;
  private long version;
  private long wakesAt;
  private long forgetsAt;
  private boolean touched;

  private EnrichMemory(Program.EnrichProgram program, RowCell cell) {
    this.program = program;
    this.cell = cell;
  }

  static EnrichMemory read(Program.EnrichProgram program, State state) {
    byte[] stored = state.read();
    if (!program.remembers()) {
      return new EnrichMemory(program, RowCell.read(stored == null ? null : Slice.of(stored)));
    }
    ByteReader in = stored == null ? null : new ByteReader(stored);
    EnrichMemory memory =
        new EnrichMemory(program, RowCell.read(in == null ? Slice.EMPTY : in.readBlob()));
    if (in != null) {
      memory.version = in.readLong();
      memory.wakesAt = in.readLong();
      memory.forgetsAt = in.readLong();
    }
    memory.waiting = EntryMap.read(in, state, WAITING);
    memory.recent = EntryMap.read(in, state, RECENT);
    return memory;
  }

  void write(State state) {
    if (!touched) {
      return;
    }
    touched = false;
    if (!program.remembers()) {
      state.write(cell.toBytes());
      return;
    }
    if (!cell.known && waiting.size() == 0 && recent.size() == 0) {
      state.clear();
      return;
    }
    ByteWriter out = new ByteWriter(256);
    out.writeBlob(cell.known ? Slice.of(cell.toBytes()) : Slice.EMPTY);
    out.writeLong(version).writeLong(wakesAt).writeLong(forgetsAt);
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

  /** The version of what is sent again now: above all that were sent from here. */
  long nextVersion(long timestamp) {
    touched = true;
    version = Math.max(timestamp, version + 1);
    return version;
  }

  // Events that wait

  void park(Event event, State state) {
    touched = true;
    long until = event.timestamp() + program.waitMicros();
    ByteWriter out = new ByteWriter(event.row().length() + 24).writeLong(until);
    event.write(out);
    waiting.put(event.key(), Slice.of(out.toBytes()));
    if (until > wakesAt) {
      wakesAt = until;
      state.wakeAt(until);
    }
  }

  /** All events that wait, which no longer do, in an order that does not depend on the state. */
  List<Event> release(long timestamp) {
    return take(Long.MAX_VALUE, timestamp);
  }

  /** The events whose time to wait is over, which no longer wait. */
  List<Event> giveUp(long timestamp) {
    return take(timestamp, timestamp);
  }

  private List<Event> take(long until, long timestamp) {
    List<Event> taken = new ArrayList<>();
    if (waiting.size() == 0) {
      return taken;
    }
    Iterator<EntryMap.Entry> all = waiting.iterator();
    while (all.hasNext()) {
      EntryMap.Entry each = all.next();
      ByteReader in = new ByteReader(each.value());
      if (in.readLong() <= until) {
        taken.add(Event.kept(each.key(), in, timestamp));
      }
    }
    taken.forEach(each -> waiting.remove(each.key()));
    touched |= !taken.isEmpty();
    taken.sort(Comparator.comparing(Event::key));
    return taken;
  }

  // Events that are sent again

  boolean hasRecent() {
    return recent.size() > 0;
  }

  /** Forgets an event that was told again elsewhere. */
  void forget(Slice identity) {
    remove(waiting, identity);
    remove(recent, identity);
  }

  private void remove(EntryMap events, Slice identity) {
    if (events.size() > 0 && events.get(identity) != null) {
      events.remove(identity);
      touched = true;
    }
  }

  /** Forgets what is remembered of an event that comes again; {@code kept} is replaced anyway. */
  void replace(Event event, boolean kept) {
    remove(waiting, event.key());
    if (!kept) {
      remove(recent, event.key());
    }
  }

  /** Remembers an event that was sent with the fields of this hash, until its time is over. */
  void keep(Event event, long hash, State state) {
    touched = true;
    long until = event.timestamp() + program.forMicros();
    version = Math.max(version, event.version());
    ByteWriter out = new ByteWriter(event.row().length() + 32).writeLong(until).writeLong(hash);
    event.write(out);
    recent.put(event.key(), Slice.of(out.toBytes()));
    wakeAgain(program.everyMicros() > 0 ? event.timestamp() : until, state);
  }

  private void wakeAgain(long from, State state) {
    long round = program.everyMicros();
    if (round == 0) {
      round = Math.max(program.forMicros() / 8, LEAST_ROUND_MICROS);
    }
    long wake = (from / round + 1) * round;
    if (wake > forgetsAt) {
      forgetsAt = wake;
      state.wakeAt(wake);
    }
  }

  /** The events whose time is not over, to be sent again; begun after the memory was written. */
  Iterator<Event> recentLater(long timestamp, long correction) {
    return new Iterator<>() {
      private Iterator<Event> all;

      @Override
      public boolean hasNext() {
        if (all == null) {
          all = recent(timestamp, correction, hash -> true);
        }
        return all.hasNext();
      }

      @Override
      public Event next() {
        return all.next();
      }
    };
  }

  /** Those of them that were last sent with other fields, as of now. */
  Iterator<Event> recentOtherThan(long hash, long timestamp, long correction) {
    return recent(timestamp, correction, last -> last != hash);
  }

  private Iterator<Event> recent(long timestamp, long correction, LongPredicate last) {
    Iterator<EntryMap.Entry> all = recent.iterator();
    boolean periodic = program.everyMicros() > 0;
    return new Iterator<>() {
      private Event next;

      @Override
      public boolean hasNext() {
        while (next == null && all.hasNext()) {
          EntryMap.Entry each = all.next();
          ByteReader in = new ByteReader(each.value());
          boolean current = in.readLong() > timestamp || periodic;
          if (last.test(in.readLong()) && current) {
            next = Event.kept(each.key(), in, timestamp).corrected(timestamp, correction);
          }
        }
        return next != null;
      }

      @Override
      public Event next() {
        if (!hasNext()) {
          throw new NoSuchElementException();
        }
        Event found = next;
        next = null;
        return found;
      }
    };
  }

  /** Notes with which fields events were sent again. */
  void sent(Collection<Event> events, long hash) {
    for (Event each : recent.inPageOrder(events, Event::key)) {
      byte[] entry = recent.get(each.key()).toBytes().clone();
      ByteWriter.LONGS.set(entry, Long.BYTES, hash);
      recent.put(each.key(), Slice.of(entry));
      touched = true;
    }
  }

  /** Whether a periodic correction is due. */
  boolean isDue(long timestamp) {
    return program.everyMicros() > 0 && timestamp >= forgetsAt;
  }

  /** Forgets the recent events whose time is over. */
  void forget(long timestamp, State state) {
    if (!program.keepsRecent() || recent.size() == 0) {
      return;
    }
    List<Slice> over = new ArrayList<>();
    Iterator<EntryMap.Entry> all = recent.iterator();
    while (all.hasNext()) {
      EntryMap.Entry each = all.next();
      if (new ByteReader(each.value()).readLong() <= timestamp) {
        over.add(each.key().detach());
      }
    }
    recent.inPageOrder(over, each -> each).forEach(recent::remove);
    touched |= !over.isEmpty();
    if (recent.size() > 0 && program.everyMicros() > 0) {
      touched = true;
      wakeAgain(timestamp, state);
    }
  }
}
