package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.state.EntryMap;
import dev.joinery.kernel.state.OrderedMap;
import dev.joinery.kernel.state.Pages;
import java.util.ArrayList;
import java.util.List;

/** What one key has of each time, in microseconds: finds the next time before and after one. */
final class ByTime {
  private final OrderedMap entries;

  private ByTime(OrderedMap entries) {
    this.entries = entries;
  }

  /** {@code in} is null where there is none; {@code space} numbers their pages. */
  static ByTime read(ByteReader in, Pages pages, int space) {
    return new ByTime(OrderedMap.read(in, pages, space));
  }

  void write(ByteWriter out) {
    entries.write(out);
  }

  Slice get(long time) {
    return entries.get(TimeCode.of(time));
  }

  void put(long time, Slice value) {
    entries.put(TimeCode.of(time), value);
  }

  void remove(long time) {
    entries.remove(TimeCode.of(time));
  }

  /** Null where there is none. */
  Long lastBelow(long time) {
    EntryMap.Entry entry = entries.lastBelow(TimeCode.of(time));
    return entry == null ? null : TimeCode.of(entry.key());
  }

  /** Null where there is none. */
  Long firstAbove(long time) {
    EntryMap.Entry entry = time == Long.MAX_VALUE ? null : entries.atLeast(TimeCode.of(time + 1));
    return entry == null ? null : TimeCode.of(entry.key());
  }

  /** All times that have something, in their order. */
  List<Long> times() {
    List<Long> times = new ArrayList<>();
    entries.from(Slice.EMPTY).forEachRemaining(each -> times.add(TimeCode.of(each.key())));
    return times;
  }

  /** The row of a time; of one that has none a row that nobody has heard of. */
  RowCell cell(long time) {
    return RowCell.read(get(time));
  }

  /** The row of the last time below one. */
  RowCell cellBelow(long time) {
    EntryMap.Entry entry = entries.lastBelow(TimeCode.of(time));
    return RowCell.read(entry == null ? null : entry.value());
  }
}
