package dev.joinery.kernel.state;

import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

/**
 * Values by identity, each kept until a time; what a time is over for is at hand without a look at
 * the others.
 *
 * <p>The values stand in the order of their times. Once there are many, the time of each identity
 * stands beside them; while they are few, an identity is looked for among all, and by a table once
 * that has cost more than one.
 */
public final class TimedMap {
  /** How many spaces of pages a map takes. */
  public static final int SPACES = 2;

  private static final int REMOVED_AT_ONCE = 65_536;
  private static final int PLACE_BYTES = Long.BYTES + Integer.BYTES;

  /** What the table of keys costs for each, in keys gone through. */
  private static final int TABLE_COST = 3;

  private final OrderedMap values;
  private final EntryMap times;

  /** Keys by identity, while the values have no pages and once it pays; null for none. */
  private Map<Slice, Slice> keys;

  private long gone;

  private TimedMap(ByteReader in, Pages pages, int space) {
    values = OrderedMap.read(in, pages, space);
    times = EntryMap.read(in, pages, space + 1);
  }

  /** A value, whose it is, and until when it is kept. */
  public record Timed(Slice identity, long time, Slice value) {
    private static Timed of(EntryMap.Entry entry) {
      return new Timed(identityOf(entry.key()), timeOf(entry.key()), entry.value());
    }
  }

  public static TimedMap read(ByteReader in, Pages pages, int space) {
    return new TimedMap(in, pages, space);
  }

  public void write(ByteWriter out) {
    values.write(out);
    times.write(out);
  }

  public long size() {
    return values.size();
  }

  /** What is kept for an identity, or null. */
  public Timed get(Slice identity) {
    Slice key = keyOf(identity);
    return key == null ? null : new Timed(identity, timeOf(key), values.get(key));
  }

  /** Keeps a value in place of the one that the identity had. */
  public void put(Slice identity, long time, Slice value) {
    Slice key = keyOf(time, identity);
    Slice before = keyOf(identity);
    if (before != null && !before.equals(key)) {
      values.remove(before);
    }
    boolean wasPaged = values.isPaged();
    values.put(key, value);
    if (wasPaged) {
      times.put(identity, key.sub(0, Long.BYTES));
    } else if (values.isPaged()) {
      keys = null;
      values.iterator().forEachRemaining(each -> note(each.key()));
    } else if (keys != null) {
      keys.put(identity, key);
    }
  }

  private void note(Slice key) {
    times.put(identityOf(key), key.sub(0, Long.BYTES));
  }

  /** Returns whether anything was kept. */
  public boolean remove(Slice identity) {
    Slice key = keyOf(identity);
    if (key == null) {
      return false;
    }
    values.remove(key);
    if (keys != null) {
      keys.remove(identity);
    }
    if (times.size() > 0) {
      times.remove(identity);
    }
    return true;
  }

  /**
   * Removes what is kept until before a time and gives it, the earliest first: {@code most} of it,
   * or a little more, where there is so much.
   */
  public List<Timed> takeBefore(long time, int most) {
    List<Timed> taken = new ArrayList<>();
    keys = null;
    values
        .takeBelow(startOf(time), most)
        .forEach(each -> taken.add(Timed.of(each)));
    if (values.size() == 0) {
      times.clear();
    } else if (times.size() > 0) {
      inPageOrder(taken, Timed::identity).forEach(each -> times.remove(each.identity()));
    }
    return taken;
  }

  /** Forgets what is kept until before a time; returns whether there was any. */
  public boolean removeBefore(long time) {
    boolean any = false;
    List<Timed> taken;
    do {
      taken = takeBefore(time, REMOVED_AT_ONCE);
      any |= !taken.isEmpty();
    } while (taken.size() >= REMOVED_AT_ONCE);
    return any;
  }

  /** Keeps another value until the same time. */
  public void replace(Timed kept, Slice value) {
    values.put(keyOf(kept.time(), kept.identity()), value);
  }

  /** Goes through all, the earliest first; what was changed must have been written. */
  public Iterator<Timed> iterator() {
    return timed(values.iterator());
  }

  /** Goes on with one, or begins with the first; the map must not change meanwhile. */
  public Iterator<Timed> from(Timed first) {
    return timed(values.from(first == null ? Slice.EMPTY : keyOf(first.time(), first.identity())));
  }

  /** Goes on with the first that is kept until a time or longer; the map must not change meanwhile. */
  public Iterator<Timed> from(long time) {
    return timed(values.from(startOf(time)));
  }

  private static Iterator<Timed> timed(Iterator<EntryMap.Entry> all) {
    return new Iterator<>() {
      @Override
      public boolean hasNext() {
        return all.hasNext();
      }

      @Override
      public Timed next() {
        return Timed.of(all.next());
      }
    };
  }

  /** An order in which many identities are looked up fast. */
  public <T> List<T> inPageOrder(Collection<T> elements, Function<T, Slice> identity) {
    return times.inPageOrder(elements, identity);
  }

  private Slice keyOf(Slice identity) {
    if (values.isPaged()) {
      Slice time = times.get(identity);
      return time == null ? null : keyOf(readTime(time), identity);
    }
    if (keys == null && gone > values.size() * TABLE_COST) {
      keys = new HashMap<>();
      values.iterator().forEachRemaining(each -> keys.put(identityOf(each.key()), each.key()));
    }
    return keys == null ? goThrough(identity) : keys.get(identity);
  }

  private Slice goThrough(Slice identity) {
    for (Iterator<EntryMap.Entry> all = values.iterator(); all.hasNext(); ) {
      Slice key = all.next().key();
      gone++;
      if (key.length() == PLACE_BYTES + identity.length() && identityOf(key).equals(identity)) {
        return key;
      }
    }
    return null;
  }

  /**
   * The place of an identity's value: by time, and of one time in the order of pages of identities,
   * so that many values of one time are put in where others were just put in.
   */
  public static Slice keyOf(long time, Slice identity) {
    ByteWriter out = new ByteWriter(PLACE_BYTES + identity.length());
    out.writeLong(time ^ Long.MIN_VALUE).writeInt(EntryMap.pageOrder(identity) ^ Integer.MIN_VALUE);
    return Slice.of(out.writeRaw(identity).toBytes());
  }

  /** The least place of a time. */
  public static Slice startOf(long time) {
    return Slice.of(new ByteWriter(Long.BYTES).writeLong(time ^ Long.MIN_VALUE).toBytes());
  }

  public static long timeOf(Slice key) {
    return readTime(key.sub(0, Long.BYTES));
  }

  public static Slice identityOf(Slice key) {
    return key.sub(PLACE_BYTES, key.length() - PLACE_BYTES);
  }

  private static long readTime(Slice time) {
    return new ByteReader(time).readLong() ^ Long.MIN_VALUE;
  }
}
