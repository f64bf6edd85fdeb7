package dev.joinery.kernel.state;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;
import java.util.AbstractList;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class PlacesTest {
  /** Entries that count how many of them were looked at. */
  private static final class Counted extends AbstractList<EntryMap.Entry> {
    private final List<EntryMap.Entry> entries = new ArrayList<>();
    private int looked;

    @Override
    public EntryMap.Entry get(int index) {
      looked++;
      return entries.get(index);
    }

    @Override
    public int size() {
      return entries.size();
    }

    void addKey(Slice key) {
      entries.add(new EntryMap.Entry(key, Slice.EMPTY));
    }
  }

  private static Slice key(long number) {
    return Slice.of(new ByteWriter().writeLong(number).toBytes());
  }

  @Test
  void keysOfOneBucketAreFoundByAFewLooksEach() {
    Counted entries = new Counted();
    for (long number = 0; entries.size() < 400; number++) {
      if ((key(number).hashCode() & 63) == 17) {
        entries.addKey(key(number));
      }
    }
    Places places = new Places();
    for (int times = 0; times < 8; times++) {
      places.find(entries, key(-1));
    }
    entries.looked = 0;

    for (int at = 0; at < entries.size(); at++) {
      assertEquals(at, places.find(entries, entries.entries.get(at).key()));
    }

    assertTrue(entries.looked < 400 + 400 * 3, "looked at " + entries.looked);
  }
}
