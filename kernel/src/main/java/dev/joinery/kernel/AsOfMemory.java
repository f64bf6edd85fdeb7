package dev.joinery.kernel;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.Iterator;
import java.util.List;

/**
 * What an {@link AsOf} remembers in one bucket: the versions of its rows by key, the events that
 * are open by identity, the newest time of the whole table and since when nothing came of it.
 */
final class AsOfMemory {
  private static final int VERSIONS = 0;
  private static final int OPEN = 1;
  private static final long UNKNOWN = Long.MIN_VALUE;

  private final EntryMap versions;
  private final EntryMap open;
  private long newest = UNKNOWN;
  private long quietSince = UNKNOWN;
  private long wakesAt;
  private long version;
  private boolean touched;

  private AsOfMemory(ByteReader in, State state) {
    if (in != null) {
      newest = in.readLong();
      quietSince = in.readLong();
      wakesAt = in.readLong();
      version = in.readLong();
    }
    versions = EntryMap.read(in, state, VERSIONS);
    open = EntryMap.read(in, state, OPEN);
  }

  /**
   * An event whose answer is not final.
   *
   * @param key the code of its join value
   * @param sent whether it was sent, with the fields of this hash
   */
  record Open(Event event, Slice key, long time, boolean sent, long hash) {}

  static AsOfMemory read(State state) {
    byte[] stored = state.read();
    return new AsOfMemory(stored == null ? null : new ByteReader(stored), state);
  }

  void write(State state) {
    if (!touched) {
      return;
    }
    ByteWriter out = new ByteWriter(1024);
    out.writeLong(newest).writeLong(quietSince).writeLong(wakesAt).writeLong(version);
    versions.write(out);
    open.write(out);
    state.write(out.toBytes());
  }

  // Time

  /** Takes what a batch told of the table's time. */
  void hear(long time, boolean stirred, long timestamp) {
    if (stirred || quietSince == UNKNOWN) {
      quietSince = timestamp;
      touched = true;
    }
    if (time > newest) {
      newest = time;
      touched = true;
    }
  }

  /** Whether the table's watermark is past a time. */
  boolean isPast(long time, long maxDelayMicros) {
    return newest != UNKNOWN && newest - maxDelayMicros > time;
  }

  /** The time so long before the newest one; the least number where none is known. */
  long before(long micros) {
    return newest == UNKNOWN ? UNKNOWN : newest - micros;
  }

  boolean isIdle(long timestamp, long idleMicros) {
    return idleMicros >= 0 && quietSince != UNKNOWN && timestamp - quietSince >= idleMicros;
  }

  /** Asks to be called when the table is idle, if an event waits for that. */
  void wakeIfIdle(long idleMicros, State state) {
    if (idleMicros < 0 || open.size() == 0) {
      return;
    }
    long wake = quietSince + idleMicros;
    if (wake > wakesAt) {
      wakesAt = wake;
      touched = true;
      state.wakeAt(wake);
    }
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

  /** Keeps an event open; {@code met} is what it was sent with, null where it was not. */
  void open(Event event, Slice key, long time, TableFields.Answer met) {
    touched = true;
    version = Math.max(version, met == null ? 0 : event.version());
    ByteWriter out = new ByteWriter(event.row().length() + key.length() + 48);
    out.writeLong(time).writeByte(met == null ? 0 : 1).writeLong(met == null ? 0 : met.hash());
    event.write(out.writeBlob(key));
    open.put(event.key(), Slice.of(out.toBytes()));
  }

  void close(Slice event) {
    if (open.size() > 0 && open.get(event) != null) {
      touched = true;
      open.remove(event);
    }
  }

  /** All open events, in an order that does not depend on the state. */
  List<Open> openEvents(long timestamp) {
    List<Open> found = new ArrayList<>();
    if (open.size() == 0) {
      return found;
    }
    Iterator<EntryMap.Entry> all = open.iterator();
    while (all.hasNext()) {
      EntryMap.Entry each = all.next();
      ByteReader in = new ByteReader(each.value());
      long time = in.readLong();
      boolean sent = in.readByte() == 1;
      long hash = in.readLong();
      Slice key = in.readBlob();
      found.add(new Open(Event.kept(each.key(), in, timestamp), key, time, sent, hash));
    }
    found.sort(Comparator.comparing(each -> each.event().key()));
    return open.inPageOrder(found, each -> each.event().key());
  }
}
