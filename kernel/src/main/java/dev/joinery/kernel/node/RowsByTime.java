package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.state.EntryMap;
import dev.joinery.kernel.state.OrderedMap;
import dev.joinery.kernel.state.Pages;
import java.util.Iterator;
import java.util.List;

/**
 * The rows of one key in the order of their times: remembers what those of one time add up to. Of
 * many it also remembers what each page adds up to, so that adding up a million rows reads a few
 * pages.
 */
final class RowsByTime {
  private static final int AT_ONCE = 4096;

  private final OrderedMap byTime;
  private final OrderedMap byPage;
  private final Aggregates sums;

  /** What stands from one time to another. */
  private final class Sum implements OrderedMap.Visitor {
    private final Aggregates aggregates;
    private long rows;

    Sum(Aggregates aggregates) {
      this.aggregates = aggregates;
      aggregates.clear();
    }

    @Override
    public void page(int number) {
      merge(byPage.get(keyOf(number)));
    }

    @Override
    public void entry(EntryMap.Entry entry) {
      merge(entry.value());
    }

    private void merge(Slice stored) {
      ByteReader in = new ByteReader(stored);
      rows += in.readVarLong();
      aggregates.merge(in);
    }

    private Slice toBytes() {
      aggregates.keepEnds();
      ByteWriter out = new ByteWriter(64).writeVarLong(rows);
      aggregates.write(out);
      return Slice.of(out.toBytes());
    }
  }

  /** Keeps what pages add up to as they are written. */
  private final class PageSums implements OrderedMap.Listener {
    @Override
    public void written(int number, List<EntryMap.Entry> entries) {
      Sum sum = new Sum(sums);
      entries.forEach(sum::entry);
      byPage.put(keyOf(number), sum.toBytes());
    }

    @Override
    public void removed(int number) {
      byPage.remove(keyOf(number));
    }
  }

  private RowsByTime(OrderedMap byTime, OrderedMap byPage, Aggregates sums) {
    this.byTime = byTime;
    this.byPage = byPage;
    this.sums = sums;
    byTime.tell(new PageSums());
  }

  private static Slice keyOf(int page) {
    return Slice.of(new ByteWriter(Integer.BYTES).writeInt(page).toBytes());
  }

  /**
   * Opens what {@link #write} left.
   *
   * @param in null where there is none
   * @param space numbers their pages, and the one after it those of what pages add up to
   * @param sums the aggregates over them, to work with
   */
  static RowsByTime read(ByteReader in, Pages pages, int space, Aggregates sums) {
    OrderedMap byTime = OrderedMap.read(in, pages, space);
    OrderedMap byPage = OrderedMap.read(in, pages, space + 1);
    return new RowsByTime(byTime, byPage, sums);
  }

  void write(ByteWriter out) {
    byTime.write(out);
    byPage.write(out);
  }

  /** Adds what rows of a time that came and went add. */
  void add(long time, long rows, Slice added) {
    Slice key = TimeCode.of(time);
    Slice stored = byTime.get(key);
    sums.clear();
    long total = rows;
    if (stored != null) {
      ByteReader in = new ByteReader(stored);
      total += in.readVarLong();
      sums.read(in);
    }
    sums.merge(new ByteReader(added));
    if (total == 0) {
      byTime.remove(key);
      return;
    }
    if (total < 0) {
      throw new IllegalStateException("a time with " + total + " rows");
    }
    ByteWriter out = new ByteWriter(added.length() + 8).writeVarLong(total);
    sums.write(out);
    byTime.put(key, Slice.of(out.toBytes()));
  }

  boolean areNone() {
    return byTime.size() == 0;
  }

  /** Removes all rows up to a time. */
  void removeUntil(long time) {
    Slice bound = TimeCode.of(time + 1);
    while (!byTime.takeBelow(bound, AT_ONCE).isEmpty()) {
      // Each time a page's worth.
    }
  }

  boolean has(long time) {
    return firstFrom(time) == time;
  }

  /** The first time that has rows, from a time on; the greatest number where there is none. */
  long firstFrom(long time) {
    Iterator<EntryMap.Entry> all = byTime.from(TimeCode.of(time));
    return all.hasNext() ? TimeCode.of(all.next().key()) : Long.MAX_VALUE;
  }

  /** The last time below one that has rows; there must be one. */
  long lastBelow(long time) {
    return TimeCode.of(byTime.lastBelow(TimeCode.of(time)).key());
  }

  /** Has aggregates be those of all rows from one time to another, and returns how many there are. */
  long addUp(long first, long last, Aggregates aggregates) {
    Sum sum = new Sum(aggregates);
    byTime.visit(TimeCode.of(first), TimeCode.of(last + 1), sum);
    aggregates.keepEnds();
    return sum.rows;
  }
}
