package dev.joinery.kernel.state;

import dev.joinery.kernel.bytes.Slice;
import java.util.List;

/**
 * Where entries of a list stand, by their keys: by going through the list, and, once that has cost
 * more than a table of all of them, by one.
 *
 * <p>So one look costs no table, and many looks at a full page cost no more than one each.
 */
final class Places {
  /** Up to this many entries, going through them is as cheap as a table. */
  private static final int FEW = 16;

  /** What an entry costs a table, in entries gone through. */
  private static final int TABLE_COST = 3;

  private static final int GOLDEN = 0x9E3779B9;

  /** The place of an entry plus one, at its key's hash or where the next is free; 0 is free. */
  private int[] table;

  private int gone;

  /** Returns the place of a key, or -1. */
  int find(List<EntryMap.Entry> entries, Slice key) {
    if (table == null && entries.size() > FEW && gone > entries.size() * TABLE_COST) {
      fill(entries);
    }
    return table == null ? goThrough(entries, key) : lookUp(entries, key);
  }

  private int goThrough(List<EntryMap.Entry> entries, Slice key) {
    for (int i = 0; i < entries.size(); i++) {
      Slice other = entries.get(i).key();
      if (other.endsLike(key) && other.equals(key)) {
        gone += i;
        return i;
      }
    }
    gone += entries.size();
    return -1;
  }

  private int lookUp(List<EntryMap.Entry> entries, Slice key) {
    int mask = table.length - 1;
    for (int slot = slotOf(key); table[slot] != 0; slot = slot + 1 & mask) {
      if (entries.get(table[slot] - 1).key().equals(key)) {
        return table[slot] - 1;
      }
    }
    return -1;
  }

  private void fill(List<EntryMap.Entry> entries) {
    table = new int[Integer.highestOneBit(entries.size()) * 4];
    for (int i = 0; i < entries.size(); i++) {
      enter(entries.get(i).key(), i);
    }
  }

  private void enter(Slice key, int place) {
    int mask = table.length - 1;
    int slot = slotOf(key);
    while (table[slot] != 0) {
      slot = slot + 1 & mask;
    }
    table[slot] = place + 1;
  }

  /**
   * Where the search for a key starts (Knuth's multiplicative hashing): the upper bits of a product,
   * since keys of one bucket and one page agree in bits of the hash itself.
   */
  private int slotOf(Slice key) {
    return key.hashCode() * GOLDEN >>> 1 + Integer.numberOfLeadingZeros(table.length);
  }

  /** Takes in an entry that was added at the end. */
  void added(List<EntryMap.Entry> entries) {
    if (table == null) {
      return;
    }
    int last = entries.size() - 1;
    if (entries.size() * 2 > table.length) {
      fill(entries);
    } else {
      enter(entries.get(last).key(), last);
    }
  }

  /** Forgets the places, since entries have moved. */
  void forget() {
    table = null;
    gone = 0;
  }
}
