package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.Child;
import dev.joinery.kernel.state.EntryMap;
import dev.joinery.kernel.state.Mapped;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.PriorityQueue;

/**
 * The first children of a join value in order: remembers a few more than are kept, so that one that
 * leaves is replaced without a look at all of them.
 *
 * <p>Invariant: the items are exactly the first {@code items.size()} of all children. A limit of 0
 * keeps all of them, and this remembers nothing.
 */
final class TopRows {
  private static final int RESERVE = 32;

  /** A child and its key. */
  record Item(Slice key, Child child) implements Comparable<Item> {
    @Override
    public int compareTo(Item other) {
      return Child.compare(child.order(), key, other.child.order(), other.key);
    }
  }

  private final int limit;
  private final int capacity;
  private List<Item> items = new ArrayList<>();
  private boolean all = true;

  TopRows(int limit) {
    this.limit = limit;
    this.capacity = limit == 0 ? 0 : limit * 2 + RESERVE;
  }

  boolean isLimited() {
    return limit > 0;
  }

  /** The first {@code limit} children, in order. */
  List<Item> kept() {
    return List.copyOf(items.subList(0, Math.min(limit, items.size())));
  }

  void follow(Slice key, Child before, Child after) {
    if (limit == 0) {
      return;
    }
    if (before != null) {
      int at = Collections.binarySearch(items, new Item(key, before));
      if (at >= 0) {
        items.remove(at);
      }
    }
    if (after != null) {
      insert(new Item(key.detach(), after));
    }
  }

  private void insert(Item item) {
    int at = -1 - Collections.binarySearch(items, item);
    if (at == items.size() && !all) {
      return;
    }
    items.add(at, item);
    if (items.size() > capacity) {
      items.remove(items.size() - 1);
      all = false;
    }
  }

  /** True when fewer are remembered than are to be kept, although more exist. */
  boolean isShort(long total) {
    return limit > 0 && items.size() < Math.min(limit, total);
  }

  void fill(Iterator<EntryMap.Entry> children) {
    if (limit == 0) {
      return;
    }
    PriorityQueue<Item> first = new PriorityQueue<>(Collections.reverseOrder());
    all = true;
    for (Iterator<Item> each = items(children); each.hasNext(); ) {
      first.add(each.next());
      if (first.size() > capacity) {
        first.poll();
        all = false;
      }
    }
    items = new ArrayList<>(first);
    Collections.sort(items);
  }

  static Iterator<Item> items(Iterator<EntryMap.Entry> children) {
    return new Mapped<>(children, each -> new Item(each.key(), Child.read(each.value())));
  }

  void read(ByteReader in) {
    all = in.readByte() == 1;
    int size = in.readVarInt();
    items = new ArrayList<>(size);
    for (int i = 0; i < size; i++) {
      items.add(new Item(in.readBlob(), Child.read(in.readBlob())));
    }
  }

  void write(ByteWriter out) {
    out.writeByte(all ? 1 : 0).writeVarInt(items.size());
    for (Item item : items) {
      out.writeBlob(item.key()).writeBlob(item.child().encoded());
    }
  }
}
