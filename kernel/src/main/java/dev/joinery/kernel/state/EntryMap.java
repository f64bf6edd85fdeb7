package dev.joinery.kernel.state;

import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.function.Function;

/**
 * A map from bytes to bytes that is one value while small and hashed pages once large.
 *
 * <p>Pages come and go one at a time (linear hashing: Litwin, VLDB 1980), so that no change ever
 * costs more than a few pages, however large the map is. Pages go once they are less than half full
 * on average; an emptied map starts small again.
 */
public final class EntryMap {
  static final int INLINE_BYTES = 16 * 1024;
  public static final int PAGE_BYTES = 8 * 1024;
  private static final int RUN = 1024;

  /** A key and its value. */
  public record Entry(Slice key, Slice value) {}

  private final PageCache cache;
  private List<Entry> inline;
  private final Places places = new Places();
  private int pageCount;
  private long size;
  private long byteCount;

  /** {@code space} keeps the pages of several maps of one address apart. */
  EntryMap(Pages pages, int space) {
    this.cache = new PageCache(pages, space);
    this.inline = new ArrayList<>();
  }

  public static EntryMap read(ByteReader in, Pages pages, int space) {
    EntryMap map = new EntryMap(pages, space);
    if (in == null || !in.hasMore()) {
      return map;
    }
    if (in.readByte() == 0) {
      map.size = in.readVarInt();
      map.inline = new ArrayList<>((int) map.size + 2);
      for (int i = 0; i < map.size; i++) {
        Entry entry = new Entry(in.readBlob(), in.readBlob());
        map.inline.add(entry);
        map.byteCount += bytesOf(entry.key(), entry.value());
      }
    } else {
      map.inline = null;
      map.size = in.readVarLong();
      map.byteCount = in.readVarLong();
      map.pageCount = in.readVarInt();
    }
    return map;
  }

  /** Writes the map's head, and its changed pages to their place. */
  public void write(ByteWriter out) {
    if (inline != null && byteCount > INLINE_BYTES) {
      becomePaged();
    }
    if (inline != null) {
      out.writeByte(0).writeVarInt(inline.size());
      for (Entry entry : inline) {
        out.writeBlob(entry.key()).writeBlob(entry.value());
      }
      return;
    }
    cache.flush();
    out.writeByte(1).writeVarLong(size).writeVarLong(byteCount).writeVarInt(pageCount);
  }

  /** Writes changed pages to their place. */
  public void flush() {
    cache.flush();
  }

  public long size() {
    return size;
  }

  public boolean isPaged() {
    return inline == null;
  }

  public Slice get(Slice key) {
    if (inline != null) {
      return valueAt(inline, places.find(inline, key));
    }
    PageCache.Page page = cache.get(pageOf(key));
    return valueAt(page.entries, page.places.find(page.entries, key));
  }

  private static Slice valueAt(List<Entry> entries, int at) {
    return at < 0 ? null : entries.get(at).value();
  }

  public void put(Slice key, Slice value) {
    if (inline != null) {
      putInto(inline, places, key, value);
      if (byteCount > INLINE_BYTES * 2) {
        becomePaged();
      }
      return;
    }
    PageCache.Page page = cache.get(pageOf(key));
    page.dirty = true;
    putInto(page.entries, page.places, key.detach(), value.detach());
    while (byteCount > (long) pageCount * PAGE_BYTES) {
      splitNext();
    }
  }

  private void putInto(List<Entry> entries, Places places, Slice key, Slice value) {
    int at = places.find(entries, key);
    if (at >= 0) {
      byteCount += value.length() - entries.get(at).value().length();
      entries.set(at, new Entry(key, value));
    } else {
      size++;
      byteCount += bytesOf(key, value);
      entries.add(new Entry(key, value));
      places.added(entries);
    }
  }

  public void remove(Slice key) {
    if (inline != null) {
      removeFrom(inline, places, key);
    } else {
      PageCache.Page page = cache.get(pageOf(key));
      page.dirty = true;
      removeFrom(page.entries, page.places, key);
    }
    if (size == 0) {
      clear();
    }
    while (pageCount > 1 && byteCount < (pageCount - 1L) * PAGE_BYTES / 2) {
      mergeLast();
    }
  }

  private void removeFrom(List<Entry> entries, Places places, Slice key) {
    int at = places.find(entries, key);
    if (at >= 0) {
      Entry gone = entries.remove(at);
      places.forget();
      size--;
      byteCount -= bytesOf(gone.key(), gone.value());
    }
  }

  /** Removes all entries. */
  public void clear() {
    for (int i = 0; i < pageCount; i++) {
      cache.remove(i);
    }
    pageCount = 0;
    size = 0;
    byteCount = 0;
    inline = new ArrayList<>();
    places.forget();
  }

  /**
   * Goes through all entries, a page at a time. The map must not change meanwhile; pages that were
   * changed must have been written.
   */
  public Iterator<Entry> iterator() {
    if (inline != null) {
      return inline.iterator();
    }
    cache.flush();
    return new Iterator<>() {
      private int next;
      private Iterator<Entry> current = List.<Entry>of().iterator();

      @Override
      public boolean hasNext() {
        while (!current.hasNext() && next < pageCount) {
          current = cache.peek(next++).entries.iterator();
        }
        return current.hasNext();
      }

      @Override
      public Entry next() {
        if (!hasNext()) {
          throw new NoSuchElementException();
        }
        return current.next();
      }
    };
  }

  private void becomePaged() {
    List<Entry> entries = inline;
    inline = null;
    pageCount = 1;
    size = 0;
    byteCount = 0;
    for (Entry entry : entries) {
      put(entry.key(), entry.value());
    }
  }

  private void splitNext() {
    int level = Integer.highestOneBit(pageCount);
    PageCache.Page from = cache.get(pageCount - level);
    PageCache.Page to = cache.add(pageCount);
    pageCount++;
    List<Entry> kept = new ArrayList<>();
    for (Entry entry : from.entries) {
      (pageOf(entry.key()) == pageCount - 1 ? to.entries : kept).add(entry);
    }
    from.entries = kept;
    from.places.forget();
    from.dirty = true;
  }

  /** Gives the last page's entries back to the page that it was split from. */
  private void mergeLast() {
    int last = pageCount - 1;
    List<Entry> moved = cache.get(last).entries;
    cache.remove(last);
    pageCount = last;
    PageCache.Page to = cache.get(last - Integer.highestOneBit(last));
    to.entries.addAll(moved);
    to.places.forget();
    to.dirty = true;
  }

  /**
   * The same elements in runs that go through the pages once: those of one page stand together,
   * whatever the number of pages becomes meanwhile. A run is no longer than the map, so that no
   * page grows much before its turn to be split.
   */
  public <T> List<T> inPageOrder(Collection<T> elements, Function<T, Slice> key) {
    List<T> ordered = new ArrayList<>(elements);
    if (ordered.size() <= PageCache.PAGES) {
      return ordered;
    }
    List<Ranked<T>> ranked = new ArrayList<>(ordered.size());
    ordered.forEach(each -> ranked.add(new Ranked<>(pageOrder(key.apply(each)), each)));
    for (int from = 0; from < ranked.size(); ) {
      int to = (int) Math.min(ranked.size(), from + Math.max(RUN, size + from));
      ranked.subList(from, to).sort(Comparator.comparingInt(Ranked::rank));
      from = to;
    }
    ordered.clear();
    ranked.forEach(each -> ordered.add(each.element()));
    return ordered;
  }

  private record Ranked<T>(int rank, T element) {}

  /** Keys in this order stand together, whatever the number of pages. */
  static int pageOrder(Slice key) {
    return Integer.reverse(hashOf(key));
  }

  private static int hashOf(Slice key) {
    int hash = key.hashCode();
    return hash ^ hash >>> 15;
  }

  private int pageOf(Slice key) {
    int hash = hashOf(key);
    int level = Integer.highestOneBit(pageCount);
    int wide = hash & (level * 2 - 1);
    return wide < pageCount ? wide : hash & (level - 1);
  }

  private static int bytesOf(Slice key, Slice value) {
    return key.length() + value.length() + 4;
  }
}
