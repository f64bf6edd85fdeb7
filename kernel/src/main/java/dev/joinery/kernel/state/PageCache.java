package dev.joinery.kernel.state;

import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;

/**
 * The pages of one map that are worked on: remembers those that were read, and writes those that
 * were changed to their place.
 */
final class PageCache {
  static final int PAGES = 256;

  /** Some entries of a map. */
  static final class Page {
    List<EntryMap.Entry> entries = new ArrayList<>();

    /** Where its entries stand, in a map that does not keep them in the order of their keys. */
    final Places places = new Places();

    boolean dirty;
  }

  /** Hears what becomes of pages. */
  interface Listener {
    void written(int number, List<EntryMap.Entry> entries);

    void removed(int number);
  }

  private static final Listener NOBODY =
      new Listener() {
        @Override
        public void written(int number, List<EntryMap.Entry> entries) {}

        @Override
        public void removed(int number) {}
      };

  private final Pages pages;
  private final int space;
  private Listener listener = NOBODY;
  private final LinkedHashMap<Integer, Page> cache = new LinkedHashMap<>();

  /** {@code space} keeps the pages of several maps of one address apart. */
  PageCache(Pages pages, int space) {
    this.pages = pages;
    this.space = space;
  }

  void tell(Listener other) {
    listener = other;
  }

  /** Whether a page stands as it was written. */
  boolean isWritten(int number) {
    Page page = cache.get(number);
    return page == null || !page.dirty;
  }

  Page get(int number) {
    Page page = cache.get(number);
    if (page == null) {
      if (cache.size() >= PAGES) {
        flush();
      }
      page = read(number);
      cache.put(number, page);
    }
    return page;
  }

  /** Begins a page that is not there yet, beside those that are being worked on. */
  Page add(int number) {
    Page page = new Page();
    page.dirty = true;
    cache.put(number, page);
    return page;
  }

  /** A page to look at once. */
  Page peek(int number) {
    Page page = cache.get(number);
    return page != null ? page : read(number);
  }

  private Page read(int number) {
    Page page = new Page();
    readAll(number, (key, value) -> page.entries.add(new EntryMap.Entry(key, value)));
    return page;
  }

  /** Gives the entries of a page to look at once. */
  void forEach(int number, BiConsumer<Slice, Slice> taker) {
    Page page = cache.get(number);
    if (page == null) {
      readAll(number, taker);
    } else {
      page.entries.forEach(each -> taker.accept(each.key(), each.value()));
    }
  }

  private void readAll(int number, BiConsumer<Slice, Slice> taker) {
    byte[] bytes = pages.get(numberOf(number));
    if (bytes != null) {
      ByteReader in = new ByteReader(bytes);
      while (in.hasMore()) {
        taker.accept(in.readBlob(), in.readBlob());
      }
    }
  }

  void remove(int number) {
    cache.remove(number);
    pages.remove(numberOf(number));
    listener.removed(number);
  }

  void flush() {
    ByteWriter out = new ByteWriter(EntryMap.PAGE_BYTES);
    for (Map.Entry<Integer, Page> each : cache.entrySet()) {
      if (each.getValue().dirty) {
        out.reset();
        for (EntryMap.Entry entry : each.getValue().entries) {
          out.writeBlob(entry.key()).writeBlob(entry.value());
        }
        pages.put(numberOf(each.getKey()), out.toBytes());
        listener.written(each.getKey(), each.getValue().entries);
      }
    }
    cache.clear();
  }

  private int numberOf(int page) {
    return space << 28 | page;
  }
}
