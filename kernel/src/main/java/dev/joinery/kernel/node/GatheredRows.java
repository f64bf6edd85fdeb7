package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.Child;
import dev.joinery.kernel.message.FannedMessage;
import dev.joinery.kernel.state.EntryMap;
import dev.joinery.kernel.state.Mapped;
import dev.joinery.kernel.state.OrderedMap;
import dev.joinery.kernel.state.Pages;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;

/**
 * Children under several join values in one order: by their order, then by their key, then by the
 * value.
 *
 * <p>The value is a part of an entry's key, so a child that moves from one value to another is two
 * entries until both have told of it. Pages hold neighbours in the order: a new first child costs
 * one page, however many there are.
 */
final class GatheredRows {
  private final OrderedMap map;

  private GatheredRows(OrderedMap map) {
    this.map = map;
  }

  static GatheredRows read(ByteReader in, Pages pages, int space) {
    return new GatheredRows(OrderedMap.read(in, pages, space));
  }

  /** The same, which is packed while it is small. */
  static GatheredRows readPacked(ByteReader in, Pages pages) {
    return new GatheredRows(OrderedMap.readPacked(in, pages, 0));
  }

  void write(ByteWriter out) {
    map.write(out);
  }

  void clear() {
    map.clear();
  }

  boolean isPaged() {
    return map.isPaged();
  }

  boolean isEmpty() {
    return map.size() == 0;
  }

  /** Puts or removes an entry, and tells what became of it; null where nothing did. */
  ChildDelta apply(Slice value, FannedMessage.Entry entry) {
    Slice place = placeOf(value, entry);
    Slice stored = map.get(place);
    Child before = stored == null ? null : childOf(place, stored);
    Slice key = place.sub(entry.order().length(), place.length() - entry.order().length());
    if (entry.row() == null) {
      map.remove(place);
      return before == null ? null : new ChildDelta(key, before, null);
    }
    Child after = Child.of(0, entry.flags(), entry.order(), entry.row());
    map.put(place, stored(entry));
    return before != null && before.sameContent(after) ? null : new ChildDelta(key, before, after);
  }

  private static Slice placeOf(Slice value, FannedMessage.Entry entry) {
    Slice order = entry.order();
    ByteWriter place = new ByteWriter(order.length() + entry.key().length() + value.length());
    return Slice.of(place.writeRaw(order).writeRaw(entry.key()).writeRaw(value).toBytes());
  }

  private static Slice stored(FannedMessage.Entry entry) {
    ByteWriter out = new ByteWriter(entry.row().length() + 4);
    out.writeVarInt(entry.order().length()).writeByte(entry.flags()).writeRaw(entry.row());
    return Slice.of(out.toBytes());
  }

  private static Child childOf(Slice place, Slice stored) {
    ByteReader in = new ByteReader(stored);
    Slice order = place.sub(0, in.readVarInt());
    return Child.of(0, in.readByte(), order, in.rest());
  }

  /** The first {@code limit} children; all where it is 0, read while they are sent. */
  Iterable<TopRows.Item> items(int limit) {
    return limit == 0 ? this::iterator : first(limit);
  }

  List<TopRows.Item> first(int limit) {
    List<TopRows.Item> first = new ArrayList<>(limit);
    for (Iterator<TopRows.Item> all = iterator(); all.hasNext() && first.size() < limit; ) {
      first.add(all.next());
    }
    return first;
  }

  private Iterator<TopRows.Item> iterator() {
    return new Mapped<>(map.from(Slice.EMPTY), GatheredRows::itemOf);
  }

  private static TopRows.Item itemOf(EntryMap.Entry entry) {
    Child child = childOf(entry.key(), entry.value());
    int from = child.order().length();
    return new TopRows.Item(entry.key().sub(from, entry.key().length() - from), child);
  }
}
