package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.state.EntryMap;
import dev.joinery.kernel.state.OrderedMap;
import dev.joinery.kernel.state.Pages;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;

/**
 * What aggregates keep value by value, such as the distinct values of a column: remembers how often
 * each code is there, in the order of the codes; sends nothing.
 *
 * <p>A code begins with the number of its set, so all sets of a group share one map in pages, and a
 * change costs the pages that it is in. A set has lanes: how often a code is there under each of
 * several filters. What changes is taken together first and goes into the map in the order of the
 * codes; without pages it stays what it is, a change that may be added to others in any order.
 */
final class Multisets {
  /** Pages of a group that other maps do not use. */
  private static final int SPACE = 1;

  /**
   * A set of a group.
   *
   * @param lanes how many counts each of its codes has
   * @param counted false where nothing is taken back: then it is enough that a code was there
   * @param endsAlone whether only its lowest and its highest code are ever read
   */
  record Shape(int lanes, boolean counted, boolean endsAlone) {}

  private final Shape[] shapes;
  private final int[] firstLane;
  private final Map<Slice, long[]> changes = new HashMap<>();
  private long[] sizes;
  private OrderedMap map;

  Multisets(Shape[] shapes) {
    this.shapes = shapes;
    this.firstLane = new int[shapes.length];
    int lanes = 0;
    for (int i = 0; i < shapes.length; i++) {
      firstLane[i] = lanes;
      lanes += shapes[i].lanes();
    }
    this.sizes = new long[lanes];
  }

  /** Forgets everything: these are changes again. */
  void clear() {
    changes.clear();
    Arrays.fill(sizes, 0);
    map = null;
  }

  /** Opens what {@link #write} left; null where there is nothing. */
  void open(ByteReader in, Pages pages) {
    clear();
    if (in != null) {
      for (int i = 0; i < sizes.length; i++) {
        sizes[i] = in.readVarLong();
      }
    }
    map = OrderedMap.read(in, pages, SPACE);
  }

  /** Begins with nothing, and keeps in memory what is added. */
  void openInMemory() {
    open(null, new HeapPages());
  }

  /** The changes of a code, by lane, to be added to. */
  long[] at(Slice code) {
    long[] counts = changes.get(code);
    if (counts == null) {
      counts = new long[shapes[setOf(code)].lanes()];
      changes.put(code, counts);
    }
    return counts;
  }

  private static int setOf(Slice code) {
    return code.array()[code.offset()] & 0xFF;
  }

  /** Adds the changes of others. */
  void merge(Multisets those) {
    those.changes.forEach(
        (code, counts) -> {
          long[] mine = at(code);
          for (int i = 0; i < mine.length; i++) {
            mine[i] += counts[i];
          }
        });
  }

  /** Adds changes as {@link #write} has them. */
  void merge(ByteReader in) {
    for (int left = in.readVarInt(); left > 0; left--) {
      long[] mine = at(in.readBlob());
      for (int i = 0; i < mine.length; i++) {
        long coded = in.readVarLong();
        mine[i] += coded >>> 1 ^ -(coded & 1);
      }
    }
  }

  /** Writes the changes, or where there are pages the head of the map, and its pages. */
  void write(ByteWriter out) {
    if (map != null) {
      settle();
      for (long each : sizes) {
        out.writeVarLong(each);
      }
      map.write(out);
      return;
    }
    changes.values().removeIf(counts -> Arrays.stream(counts).allMatch(each -> each == 0));
    out.writeVarInt(changes.size());
    changes.forEach(
        (code, counts) -> {
          out.writeBlob(code);
          for (long each : counts) {
            out.writeVarLong(each << 1 ^ each >> 63);
          }
        });
  }

  /**
   * Leaves only the lowest and the highest code of sets of which no more is read. Others may be
   * added to these still, and rows be taken back, but where an end itself has gone.
   *
   * @return false where it may have: then only all codes tell the ends
   */
  boolean keepEnds() {
    boolean known = true;
    for (int set = 0; set < shapes.length; set++) {
      known &= !shapes[set].endsAlone() || keepEnds(set);
    }
    return known;
  }

  private boolean keepEnds(int set) {
    Slice lowest = null;
    Slice highest = null;
    for (Map.Entry<Slice, long[]> each : changes.entrySet()) {
      Slice code = each.getKey();
      if (setOf(code) == set && each.getValue()[0] > 0) {
        lowest = lowest == null || code.compareTo(lowest) < 0 ? code : lowest;
        highest = highest == null || code.compareTo(highest) > 0 ? code : highest;
      }
    }
    boolean known = true;
    Iterator<Map.Entry<Slice, long[]>> all = changes.entrySet().iterator();
    while (all.hasNext()) {
      Map.Entry<Slice, long[]> each = all.next();
      Slice code = each.getKey();
      if (setOf(code) != set || code.equals(lowest) || code.equals(highest)) {
        continue;
      }
      boolean between =
          lowest != null && code.compareTo(lowest) > 0 && code.compareTo(highest) < 0;
      known &= between;
      all.remove();
    }
    return known;
  }

  /** Has all pages removed. */
  void drop() {
    changes.clear();
    if (map != null) {
      map.clear();
    }
  }

  /** What can be read: these, or where they are changes alone, what they add up to. */
  Multisets settled() {
    if (map != null) {
      settle();
      return this;
    }
    Multisets made = new Multisets(shapes);
    made.openInMemory();
    made.merge(this);
    made.settle();
    return made;
  }

  private void settle() {
    if (changes.isEmpty()) {
      return;
    }
    Slice[] codes = changes.keySet().toArray(Slice[]::new);
    Arrays.sort(codes);
    for (Slice code : codes) {
      settle(code, changes.get(code));
    }
    changes.clear();
  }

  private void settle(Slice code, long[] added) {
    int set = setOf(code);
    Slice stored = map.get(code);
    long[] counts = countsOf(set, stored);
    boolean changed = false;
    boolean there = false;
    for (int i = 0; i < counts.length; i++) {
      long before = counts[i];
      long now = before + added[i];
      if (now < 0) {
        throw new IllegalStateException("a value that is there " + now + " times");
      }
      counts[i] = shapes[set].counted() ? now : Math.min(now, 1);
      sizes[firstLane[set] + i] += Long.signum(now) - Long.signum(before);
      changed |= counts[i] != before;
      there |= now > 0;
    }
    if (!there && stored != null) {
      map.remove(code);
    } else if (changed) {
      map.put(code, encoded(counts));
    }
  }

  private long[] countsOf(int set, Slice stored) {
    long[] counts = new long[shapes[set].lanes()];
    if (stored == null) {
      return counts;
    }
    if (stored.isEmpty()) {
      counts[0] = 1;
      return counts;
    }
    ByteReader in = new ByteReader(stored);
    for (int i = 0; i < counts.length; i++) {
      counts[i] = in.readVarLong();
    }
    return counts;
  }

  /** Counts as bytes: none where a code with one lane is there once, as most are. */
  private static Slice encoded(long[] counts) {
    if (counts.length == 1 && counts[0] == 1) {
      return Slice.EMPTY;
    }
    ByteWriter out = new ByteWriter(counts.length + 8);
    for (long each : counts) {
      out.writeVarLong(each);
    }
    return Slice.of(out.toBytes());
  }

  /** How many codes of a set are there under a filter. */
  long size(int set, int lane) {
    return sizes[firstLane[set] + lane];
  }

  /** The lowest code of a set of one lane, without the set's number; null where there is none. */
  Slice lowest(int set) {
    return codeOf(set, map.atLeast(bound(set)));
  }

  /** The highest code, likewise. */
  Slice highest(int set) {
    return codeOf(set, map.lastBelow(bound(set + 1)));
  }

  private static Slice codeOf(int set, EntryMap.Entry entry) {
    return entry == null || setOf(entry.key()) != set
        ? null
        : entry.key().sub(1, entry.key().length() - 1);
  }

  /** Takes a code, without its set's number, and how often it is there. */
  interface Taking {
    /** Returns whether it wants more. */
    boolean take(Slice code, long count);
  }

  /** Gives the codes of a set of one lane in their order. */
  void forEach(int set, Taking taking) {
    Iterator<EntryMap.Entry> entries = map.from(bound(set));
    while (entries.hasNext()) {
      EntryMap.Entry entry = entries.next();
      Slice code = codeOf(set, entry);
      if (code == null || !taking.take(code, countsOf(set, entry.value())[0])) {
        return;
      }
    }
  }

  private static Slice bound(int set) {
    return Slice.of(new byte[] {(byte) set});
  }

  /** Pages in memory. */
  private static final class HeapPages implements Pages {
    private final Map<Integer, byte[]> pages = new HashMap<>();

    @Override
    public byte[] get(int page) {
      return pages.get(page);
    }

    @Override
    public void put(int page, byte[] bytes) {
      pages.put(page, bytes);
    }

    @Override
    public void remove(int page) {
      pages.remove(page);
    }
  }
}
