package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.Child;
import dev.joinery.kernel.message.ChildMessage;
import dev.joinery.kernel.state.Pages;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;
import java.util.function.Predicate;

/**
 * The children of one embed of a row, in their order: a list in the row's own value while they are
 * few, and pages once they are many.
 *
 * <p>It is read for one address at a time. Changes are put aside where there are many, until they
 * are settled.
 */
final class Children {
  /** Of what is larger, a change costs less in pages. */
  static final int INLINE_BYTES = 64 * 1024;

  private static final int FEW = 64;
  /** In place of the number of children. */
  private static final int PAGED = -1;

  private final int branch;
  private final boolean inPages;
  private final Map<Slice, Child> aside = new LinkedHashMap<>();
  private Pages pages;
  private List<TopRows.Item> items = new ArrayList<>();
  private PagedChildren paged;

  /** {@code inPages} says whether there may be pages; those of each branch are its own. */
  Children(int branch, boolean inPages) {
    this.branch = branch;
    this.inPages = inPages && branch < PagedChildren.BRANCHES;
  }

  /** Opens what {@link #write} left, or where {@code in} is null, with nothing. */
  void read(ByteReader in, Pages of) {
    pages = of;
    paged = null;
    items = new ArrayList<>();
    int size = in == null ? 0 : in.readVarInt();
    if (size == PAGED) {
      paged = new PagedChildren(in, pages, branch);
      return;
    }
    for (int i = 0; i < size; i++) {
      items.add(new TopRows.Item(in.readBlob(), Child.read(in.readBlob())));
    }
  }

  void write(ByteWriter out) {
    if (paged == null && inPages && bytes() > INLINE_BYTES) {
      becomePaged();
    }
    if (paged != null) {
      paged.write(out.writeVarInt(PAGED));
      return;
    }
    out.writeVarInt(items.size());
    for (TopRows.Item item : items) {
      out.writeBlob(item.key()).writeBlob(item.child().encoded());
    }
  }

  private long bytes() {
    long bytes = 0;
    for (TopRows.Item item : items) {
      bytes += item.key().length() + item.child().encoded().length();
    }
    return bytes;
  }

  private void becomePaged() {
    Map<Slice, Child> all = new LinkedHashMap<>();
    items.forEach(each -> all.put(each.key(), each.child()));
    items = new ArrayList<>();
    paged = new PagedChildren(null, pages, branch);
    paged.apply(all);
  }

  boolean isPaged() {
    return paged != null;
  }

  int size() {
    return paged == null ? items.size() : paged.size();
  }

  /** All of them, where they are not in pages. */
  List<TopRows.Item> listed() {
    return items;
  }

  /** Removes all children, and their pages. */
  void clear() {
    items.clear();
    if (paged != null) {
      paged.clear();
      paged = null;
    }
  }

  /** Drops messages about children of which a newer sender has told. */
  void dropLate(Map<Slice, ChildMessage> newest) {
    if (paged != null) {
      dropLateOfPaged(newest);
    } else if (newest.size() < FEW) {
      newest.values().removeIf(message -> isLate(message, childAt(indexOf(message.key()))));
    } else {
      for (TopRows.Item item : items) {
        ChildMessage message = newest.get(item.key());
        if (message != null && isLate(message, item.child())) {
          newest.remove(message.key());
        }
      }
    }
  }

  private void dropLateOfPaged(Map<Slice, ChildMessage> newest) {
    List<Slice> late = new ArrayList<>();
    paged.visit(
        newest.keySet(),
        (key, child) -> {
          if (isLate(newest.get(key), child)) {
            late.add(key);
          }
        });
    late.forEach(newest::remove);
  }

  private static boolean isLate(ChildMessage message, Child known) {
    return known != null && known.epoch() > message.epoch();
  }

  private Child childAt(int at) {
    return at < 0 ? null : items.get(at).child();
  }

  /** Puts a child, or removes it where {@code child} is null; it may be put aside. */
  void change(Slice key, Child child) {
    if (paged == null && aside.isEmpty() && items.size() < FEW) {
      changeNow(key, child);
    } else {
      aside.put(key, child);
    }
  }

  void settle() {
    if (paged != null) {
      paged.apply(aside);
      if (paged.size() == 0) {
        paged = null;
      }
    } else if (aside.size() < FEW) {
      aside.forEach(this::changeNow);
    } else {
      items.removeIf(item -> aside.containsKey(item.key()));
      aside.forEach(this::add);
      items.sort(null);
    }
    aside.clear();
  }

  private void add(Slice key, Child child) {
    if (child != null) {
      items.add(new TopRows.Item(key, child));
    }
  }

  private void changeNow(Slice key, Child child) {
    int at = indexOf(key);
    if (at >= 0) {
      items.remove(at);
    }
    if (child != null) {
      insert(new TopRows.Item(key, child));
    }
  }

  private int indexOf(Slice key) {
    for (int i = 0; i < items.size(); i++) {
      if (items.get(i).key().equals(key)) {
        return i;
      }
    }
    return -1;
  }

  private void insert(TopRows.Item added) {
    int low = 0;
    int high = items.size();
    while (low < high) {
      int middle = (low + high) >>> 1;
      if (items.get(middle).compareTo(added) < 0) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    items.add(low, added);
  }

  /** Removes those for which a test holds, of a list; true where there were any. */
  boolean removeIf(Predicate<Child> test) {
    return items.removeIf(item -> test.test(item.child()));
  }

  /** What is noted of all together. */
  int flags() {
    return paged == null ? flagsOf(items) : paged.flags();
  }

  static int flagsOf(List<TopRows.Item> items) {
    int flags = 0;
    for (TopRows.Item item : items) {
      flags |= item.child().flags();
    }
    return flags;
  }

  /** How many bytes their rows have. */
  static long rowBytesOf(List<TopRows.Item> items) {
    long bytes = 0;
    for (TopRows.Item item : items) {
      bytes += item.child().row().length();
    }
    return bytes;
  }

  long rowBytes() {
    return paged == null ? rowBytesOf(items) : paged.rowBytes();
  }

  /** Gives each child's key and row, in order. */
  void forEach(BiConsumer<Slice, Slice> taker) {
    if (paged != null) {
      paged.forEach(taker);
      return;
    }
    for (TopRows.Item item : items) {
      taker.accept(item.key(), item.child().row());
    }
  }
}
