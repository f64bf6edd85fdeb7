package dev.joinery.kernel.state;

import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Collections;
import java.util.Comparator;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.function.BiConsumer;

/**
 * A map in the order of its keys that is one value while small, and pages of neighbours once large:
 * a B+ tree whose only inner node, the directory, stands in the head.
 *
 * <p>So what stands together is read together: taking the lowest entries costs the pages they fill,
 * and one more, however large the map is. The directory has some 15 bytes for each page.
 */
public final class OrderedMap {
  private static final int INLINE = 0;
  private static final int PAGED = 1;
  private static final int PACKED = 2;
  static final int PAGE_BYTES = 16 * 1024;
  private static final Comparator<EntryMap.Entry> BY_KEY =
      Comparator.comparing(EntryMap.Entry::key);

  private final PageCache cache;
  private final boolean packs;
  private List<EntryMap.Entry> inline = new ArrayList<>();
  private final List<Leaf> leaves = new ArrayList<>();
  private final BitSet numbers = new BitSet();
  private long size;
  private int inlineBytes;

  /** A page of the map: the keys from {@code from} on, up to where the next one begins. */
  private static final class Leaf {
    final Slice from;
    final int number;
    int bytes;

    Leaf(Slice from, int number, int bytes) {
      this.from = from;
      this.number = number;
      this.bytes = bytes;
    }
  }

  /** Takes what stands in a part of a map: a page's entries at once, or one. */
  public interface Visitor {
    /** Entries of a page that all stand in the part, and as they were written. */
    void page(int number);

    void entry(EntryMap.Entry entry);
  }

  /** Hears of pages when they are written, so that what their entries add up to can be kept. */
  public interface Listener extends PageCache.Listener {}

  /** {@code space} keeps the pages of several maps of one address apart. */
  OrderedMap(Pages pages, int space) {
    this(pages, space, false);
  }

  private OrderedMap(Pages pages, int space, boolean packs) {
    this.cache = new PageCache(pages, space);
    this.packs = packs;
  }

  public static OrderedMap read(ByteReader in, Pages pages, int space) {
    return new OrderedMap(pages, space, false).read(in);
  }

  /** The same of a map whose entries are packed while it is small. */
  public static OrderedMap readPacked(ByteReader in, Pages pages, int space) {
    return new OrderedMap(pages, space, true).read(in);
  }

  private OrderedMap read(ByteReader in) {
    if (in == null || !in.hasMore()) {
      return this;
    }
    int layout = in.readByte();
    size = in.readVarLong();
    switch (layout) {
      case INLINE -> readInline(in);
      case PAGED -> readLeaves(in);
      case PACKED -> PackedEntries.read(in, (int) size, this::addInline);
      default -> throw new IllegalStateException("no layout of a map is " + layout);
    }
    return this;
  }

  private void readInline(ByteReader in) {
    for (int i = 0; i < size; i++) {
      addInline(new EntryMap.Entry(in.readBlob(), in.readBlob()));
    }
  }

  private void addInline(EntryMap.Entry entry) {
    inline.add(entry);
    inlineBytes += bytesOf(entry);
  }

  private void readLeaves(ByteReader in) {
    inline = null;
    for (int left = in.readVarInt(); left > 0; left--) {
      add(leaves.size(), new Leaf(in.readBlob(), in.readVarInt(), in.readVarInt()));
    }
  }

  /** Writes the map's head, and its changed pages to their place. */
  public void write(ByteWriter out) {
    if (inline != null && packs) {
      out.writeByte(PACKED).writeVarLong(size);
      PackedEntries.write(inline, out);
      return;
    }
    if (inline != null) {
      out.writeByte(INLINE).writeVarLong(size);
      for (EntryMap.Entry entry : inline) {
        out.writeBlob(entry.key()).writeBlob(entry.value());
      }
      return;
    }
    cache.flush();
    out.writeByte(PAGED).writeVarLong(size).writeVarInt(leaves.size());
    for (Leaf leaf : leaves) {
      out.writeBlob(leaf.from).writeVarInt(leaf.number).writeVarInt(leaf.bytes);
    }
  }

  /** Writes changed pages to their place, so that those can be read that stand beside them. */
  public void flush() {
    cache.flush();
  }

  /** Has a listener hear of pages from now on. */
  public void tell(Listener listener) {
    cache.tell(listener);
  }

  public long size() {
    return size;
  }

  public boolean isPaged() {
    return inline == null;
  }

  public Slice get(Slice key) {
    List<EntryMap.Entry> entries =
        inline != null ? inline : cache.get(leaves.get(leafOf(key)).number).entries;
    int at = placeOf(entries, key);
    return at < 0 ? null : entries.get(at).value();
  }

  public void put(Slice key, Slice value) {
    if (inline != null) {
      inlineBytes += putInto(inline, new EntryMap.Entry(key, value));
      if (inlineBytes > EntryMap.INLINE_BYTES) {
        becomePaged();
      }
      return;
    }
    int at = leafOf(key);
    Leaf leaf = leaves.get(at);
    PageCache.Page page = cache.get(leaf.number);
    page.dirty = true;
    leaf.bytes += putInto(page.entries, new EntryMap.Entry(key.detach(), value.detach()));
    if (leaf.bytes > PAGE_BYTES && page.entries.size() > 1) {
      split(at, page);
    }
  }

  /** Puts an entry in its place, and returns by how many bytes that is more. */
  private int putInto(List<EntryMap.Entry> entries, EntryMap.Entry entry) {
    int at = placeOf(entries, entry.key());
    if (at >= 0) {
      return bytesOf(entry) - bytesOf(entries.set(at, entry));
    }
    entries.add(-at - 1, entry);
    size++;
    return bytesOf(entry);
  }

  /** Returns whether there was an entry. */
  public boolean remove(Slice key) {
    if (inline != null) {
      int at = placeOf(inline, key);
      if (at >= 0) {
        inlineBytes -= bytesOf(inline.remove(at));
        size--;
      }
      return at >= 0;
    }
    int leafAt = leafOf(key);
    Leaf leaf = leaves.get(leafAt);
    PageCache.Page page = cache.get(leaf.number);
    int at = placeOf(page.entries, key);
    if (at < 0) {
      return false;
    }
    leaf.bytes -= bytesOf(page.entries.remove(at));
    page.dirty = true;
    size--;
    if (page.entries.isEmpty()) {
      drop(leafAt);
    } else if (leaf.bytes < PAGE_BYTES / 4) {
      mergeWithNeighbour(leafAt);
    }
    return true;
  }

  /** Gives a page's entries to one beside it, where both together stay half empty. */
  private void mergeWithNeighbour(int leafAt) {
    if (leafAt > 0 && isSmall(leafAt - 1)) {
      mergeNext(leafAt - 1);
    } else if (leafAt + 1 < leaves.size() && isSmall(leafAt)) {
      mergeNext(leafAt);
    }
  }

  private boolean isSmall(int leafAt) {
    return leaves.get(leafAt).bytes + leaves.get(leafAt + 1).bytes <= PAGE_BYTES / 2;
  }

  private void mergeNext(int leafAt) {
    Leaf next = leaves.get(leafAt + 1);
    List<EntryMap.Entry> moved = cache.get(next.number).entries;
    PageCache.Page page = cache.get(leaves.get(leafAt).number);
    page.entries.addAll(moved);
    page.dirty = true;
    leaves.get(leafAt).bytes += next.bytes;
    drop(leafAt + 1);
  }

  /**
   * Removes entries below a key and gives them, in order: {@code most} of them, or as many as a page
   * has more, where there are so many.
   */
  public List<EntryMap.Entry> takeBelow(Slice bound, int most) {
    List<EntryMap.Entry> taken = new ArrayList<>();
    if (inline != null) {
      inlineBytes -= takeBelow(inline, bound, taken);
      return taken;
    }
    while (inline == null && taken.size() < most) {
      Leaf first = leaves.get(0);
      PageCache.Page page = cache.get(first.number);
      int bytes = takeBelow(page.entries, bound, taken);
      first.bytes -= bytes;
      page.dirty |= bytes > 0;
      if (!page.entries.isEmpty()) {
        break;
      }
      drop(0);
    }
    return taken;
  }

  private int takeBelow(
      List<EntryMap.Entry> entries, Slice bound, List<EntryMap.Entry> taken) {
    int at = placeOf(entries, bound);
    List<EntryMap.Entry> below = entries.subList(0, at < 0 ? -at - 1 : at);
    int bytes = below.stream().mapToInt(OrderedMap::bytesOf).sum();
    size -= below.size();
    taken.addAll(below);
    below.clear();
    return bytes;
  }

  /** Removes all entries. */
  public void clear() {
    while (!leaves.isEmpty()) {
      drop(leaves.size() - 1);
    }
    inline = new ArrayList<>();
    inlineBytes = 0;
    size = 0;
  }

  /** The first entry from a key on, or null. */
  public EntryMap.Entry atLeast(Slice key) {
    Iterator<EntryMap.Entry> entries = from(key);
    return entries.hasNext() ? entries.next() : null;
  }

  /** Goes through the entries from a key on. The map must not change meanwhile. */
  public Iterator<EntryMap.Entry> from(Slice key) {
    if (inline != null) {
      int at = placeOf(inline, key);
      return inline.subList(at < 0 ? -at - 1 : at, inline.size()).iterator();
    }
    int first = leafOf(key);
    List<EntryMap.Entry> entries = cache.get(leaves.get(first).number).entries;
    int at = placeOf(entries, key);
    Iterator<EntryMap.Entry> begun =
        entries.subList(at < 0 ? -at - 1 : at, entries.size()).iterator();
    return iterator(begun, first + 1);
  }

  /** Gives what stands from a key on and below another, in order; the map must not change. */
  public void visit(Slice from, Slice below, Visitor visitor) {
    if (inline != null) {
      visit(inline, from, below, visitor);
      return;
    }
    for (int at = leafOf(from); at < leaves.size(); at++) {
      Leaf leaf = leaves.get(at);
      if (at > 0 && leaf.from.compareTo(below) >= 0) {
        return;
      }
      if (isWithin(at, from, below) && cache.isWritten(leaf.number)) {
        visitor.page(leaf.number);
      } else {
        visit(cache.peek(leaf.number).entries, from, below, visitor);
      }
    }
  }

  /** Whether all of a page stands in a part; of the first and the last it is not known. */
  private boolean isWithin(int at, Slice from, Slice below) {
    return at > 0
        && at + 1 < leaves.size()
        && leaves.get(at).from.compareTo(from) >= 0
        && leaves.get(at + 1).from.compareTo(below) <= 0;
  }

  private static void visit(
      List<EntryMap.Entry> entries, Slice from, Slice below, Visitor visitor) {
    int first = placeOf(entries, from);
    int end = placeOf(entries, below);
    entries.subList(first < 0 ? -first - 1 : first, end < 0 ? -end - 1 : end)
        .forEach(visitor::entry);
  }

  /** The last entry below a key; null where there is none. */
  public EntryMap.Entry lastBelow(Slice key) {
    if (inline != null) {
      return lastBelow(inline, key);
    }
    int leaf = leafOf(key);
    EntryMap.Entry found = lastBelow(cache.get(leaves.get(leaf).number).entries, key);
    if (found != null || leaf == 0) {
      return found;
    }
    List<EntryMap.Entry> before = cache.get(leaves.get(leaf - 1).number).entries;
    return before.get(before.size() - 1);
  }

  private static EntryMap.Entry lastBelow(List<EntryMap.Entry> entries, Slice key) {
    int at = placeOf(entries, key);
    int below = (at < 0 ? -at - 1 : at) - 1;
    return below < 0 ? null : entries.get(below);
  }

  /**
   * Goes through all entries, a page at a time. The map must not change meanwhile; pages that were
   * changed must have been written.
   */
  Iterator<EntryMap.Entry> iterator() {
    if (inline != null) {
      return inline.iterator();
    }
    cache.flush();
    return iterator(List.<EntryMap.Entry>of().iterator(), 0);
  }

  private Iterator<EntryMap.Entry> iterator(Iterator<EntryMap.Entry> begun, int leaf) {
    return new Iterator<>() {
      private int next = leaf;
      private Iterator<EntryMap.Entry> current = begun;

      @Override
      public boolean hasNext() {
        while (!current.hasNext() && next < leaves.size()) {
          current = cache.peek(leaves.get(next++).number).entries.iterator();
        }
        return current.hasNext();
      }

      @Override
      public EntryMap.Entry next() {
        if (!hasNext()) {
          throw new NoSuchElementException();
        }
        return current.next();
      }
    };
  }

  /** Gives all entries in order, those that are not worked on without making anything of a page. */
  public void forEach(BiConsumer<Slice, Slice> taker) {
    if (inline != null) {
      inline.forEach(each -> taker.accept(each.key(), each.value()));
      return;
    }
    for (Leaf leaf : leaves) {
      cache.forEach(leaf.number, taker);
    }
  }

  private void becomePaged() {
    List<EntryMap.Entry> entries = inline;
    inline = null;
    inlineBytes = 0;
    Leaf only = new Leaf(Slice.EMPTY, 0, 0);
    add(0, only);
    PageCache.Page page = cache.add(only.number);
    for (EntryMap.Entry entry : entries) {
      page.entries.add(new EntryMap.Entry(entry.key().detach(), entry.value().detach()));
      only.bytes += bytesOf(entry);
    }
    if (only.bytes > PAGE_BYTES && page.entries.size() > 1) {
      split(0, page);
    }
  }

  /** Parts a page in two; the last one late, since most entries come at the end. */
  private void split(int leafAt, PageCache.Page page) {
    int count = page.entries.size();
    int cut = leafAt == leaves.size() - 1 ? Math.max(1, count - count / 8 - 1) : count / 2;
    List<EntryMap.Entry> moved = page.entries.subList(cut, count);
    Slice from = between(page.entries.get(cut - 1).key(), moved.get(0).key());
    Leaf added = new Leaf(from, numbers.nextClearBit(0), 0);
    moved.forEach(each -> added.bytes += bytesOf(each));
    leaves.get(leafAt).bytes -= added.bytes;
    cache.add(added.number).entries.addAll(moved);
    moved.clear();
    add(leafAt + 1, added);
  }

  /** The shortest key that is above one and not above the other. */
  private static Slice between(Slice low, Slice high) {
    int same = 0;
    while (same < low.length()
        && low.array()[low.offset() + same] == high.array()[high.offset() + same]) {
      same++;
    }
    return Slice.of(high.sub(0, same + 1).toBytes());
  }

  private void add(int at, Leaf leaf) {
    leaves.add(at, leaf);
    numbers.set(leaf.number);
  }

  private void drop(int leafAt) {
    Leaf gone = leaves.remove(leafAt);
    numbers.clear(gone.number);
    cache.remove(gone.number);
    if (leaves.isEmpty()) {
      inline = new ArrayList<>();
    }
  }

  /** The last page that begins at or below a key; what is below all belongs to the first. */
  private int leafOf(Slice key) {
    int low = 0;
    int high = leaves.size();
    while (low < high) {
      int middle = (low + high) >>> 1;
      if (leaves.get(middle).from.compareTo(key) <= 0) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return Math.max(0, low - 1);
  }

  /** As {@link Collections#binarySearch}. */
  private static int placeOf(List<EntryMap.Entry> entries, Slice key) {
    return Collections.binarySearch(entries, new EntryMap.Entry(key, Slice.EMPTY), BY_KEY);
  }

  private static int bytesOf(EntryMap.Entry entry) {
    return entry.key().length() + entry.value().length() + 4;
  }
}
