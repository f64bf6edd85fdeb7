package dev.joinery.kernel.stream;

import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.Event;
import dev.joinery.kernel.message.Marks;
import dev.joinery.kernel.program.StreamProgram;
import dev.joinery.kernel.state.EntryMap;
import dev.joinery.kernel.state.OrderedMap;
import dev.joinery.kernel.state.State;
import dev.joinery.kernel.state.TimedMap;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Iterator;
import java.util.List;

/**
 * What an {@link AsOf} remembers in one bucket: the versions of its rows by key, the events that
 * are open in the order of their times, and what it knows of the whole table's time.
 *
 * <p>Where events are corrected, the open ones of a key are found by a second order: by key, then
 * by time.
 */
final class AsOfMemory {
  private static final int VERSIONS = 0;
  private static final int OPEN = 1;
  private static final int BY_KEY = 2;

  private final TableClock clock;
  private final EntryMap versions;
  private final OrderedMap open;
  private final OrderedMap byKey;
  private final Alarm idles;
  private long version;
  private boolean touched;

  private AsOfMemory(StreamProgram.AsOfProgram program, ByteReader in, State state) {
    clock = new TableClock(in, program.maxDelayMicros(), program.idleMicros());
    idles = Alarm.read(in);
    version = in == null ? 0 : in.readLong();
    versions = EntryMap.read(in, state, VERSIONS);
    open = OrderedMap.read(in, state, OPEN);
    byKey = OrderedMap.read(in, state, BY_KEY);
  }

  /**
   * An event whose answer is not final.
   *
   * @param key the code of its join value
   * @param sent whether it was sent, with the fields of this hash
   */
  record Open(Event event, Slice key, long time, boolean sent, long hash) {
    private static Open read(Slice place, Slice value, long timestamp) {
      ByteReader in = new ByteReader(value);
      boolean sent = in.readByte() == 1;
      long hash = in.readLong();
      Slice key = in.readBlob();
      Event event = Event.kept(TimedMap.identityOf(place), in, timestamp);
      return new Open(event, key, TimedMap.timeOf(place), sent, hash);
    }

    /** Its place among all: by time. */
    private Slice place() {
      return TimedMap.keyOf(time, event.key());
    }
  }

  static AsOfMemory read(StreamProgram.AsOfProgram program, State state) {
    byte[] stored = state.read();
    return new AsOfMemory(program, stored == null ? null : new ByteReader(stored), state);
  }

  void write(State state) {
    if (!touched) {
      return;
    }
    touched = false;
    ByteWriter out = new ByteWriter(1024);
    clock.write(out);
    out.writeLong(idles.time()).writeLong(version);
    versions.write(out);
    open.write(out);
    byKey.write(out);
    state.write(out.toBytes());
  }

  // Time

  /** Takes what a batch told of the table's time. */
  void hear(Marks marks, long timestamp) {
    touched |= clock.hear(marks, timestamp);
  }

  TableClock clock() {
    return clock;
  }

  /** Asks to be called when a partition of the table is idle, if an event waits for that. */
  void wakeIfIdle(long timestamp, State state) {
    touched |= open.size() > 0 && idles.at(clock.idleAt(timestamp), state);
  }

  long nextVersion(long timestamp) {
    touched = true;
    version = Math.max(timestamp, version + 1);
    return version;
  }

  // Rows

  List<Slice> inPageOrder(Collection<Slice> keys) {
    return versions.inPageOrder(keys, each -> each);
  }

  Versions versions(Slice key) {
    return Versions.read(versions.get(key));
  }

  void put(Slice key, Versions rows) {
    touched = true;
    versions.put(key, rows.toBytes());
  }

  // Events

  /** Keeps an event open that was not sent. */
  void hold(Event event, Slice key, long time) {
    keep(new Open(event, key, time, false, 0));
  }

  /** Keeps an event open that was sent, with {@code met}. */
  void keepSent(Event event, Slice key, long time, TableFields.Answer met) {
    version = Math.max(version, event.version());
    Open sent = new Open(event, key, time, true, met.hash());
    keep(sent);
    byKey.put(ordered(key, sent.place()), Slice.EMPTY);
  }

  private void keep(Open each) {
    touched = true;
    Event event = each.event();
    ByteWriter out = new ByteWriter(event.row().length() + each.key().length() + 40);
    event.write(
        out.writeByte(each.sent() ? 1 : 0).writeLong(each.hash()).writeBlob(each.key()));
    open.put(each.place(), Slice.of(out.toBytes()));
  }

  /** Forgets an event of a time that came again; true where it was open and not sent. */
  boolean close(long time, Slice identity) {
    Slice place = TimedMap.keyOf(time, identity);
    Slice stored = open.get(place);
    if (stored == null) {
      return false;
    }
    touched = true;
    open.remove(place);
    Open closed = Open.read(place, stored, 0);
    forgetKey(closed);
    return !closed.sent();
  }

  /**
   * The events of times before one, which are no longer open, the earliest first: {@code most}, or
   * a few more, where there are so many.
   */
  List<Open> takeBefore(long time, int most, long timestamp) {
    List<Open> taken = new ArrayList<>();
    for (EntryMap.Entry each : open.takeBelow(TimedMap.startOf(time), most)) {
      taken.add(Open.read(each.key(), each.value(), timestamp));
    }
    taken.forEach(this::forgetKey);
    touched |= !taken.isEmpty();
    return taken;
  }

  private void forgetKey(Open each) {
    if (each.sent()) {
      byKey.remove(ordered(each.key(), each.place()));
    }
  }

  /** The events that were sent for a key, from a time on. */
  List<Open> sentFor(Slice key, long time, long timestamp) {
    List<Open> found = new ArrayList<>();
    Slice from = ordered(key, TimedMap.startOf(time));
    for (Iterator<EntryMap.Entry> all = byKey.from(from); all.hasNext(); ) {
      Slice each = all.next().key();
      if (each.length() < key.length() || !each.sub(0, key.length()).equals(key)) {
        break;
      }
      Slice place = each.sub(key.length(), each.length() - key.length());
      found.add(Open.read(place, open.get(place), timestamp));
    }
    return found;
  }

  /** A key's code tells where it ends, so what begins with it is of that key. */
  private static Slice ordered(Slice key, Slice place) {
    ByteWriter out = new ByteWriter(key.length() + place.length());
    return Slice.of(out.writeRaw(key).writeRaw(place).toBytes());
  }
}
