package dev.joinery.kernel.state;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

class OrderedMapTest {
  private final MemoryState state = new MemoryState();

  private static Slice key(long number) {
    return Slice.of(new ByteWriter().writeLong(number).toBytes());
  }

  private static Slice value(int number, int length) {
    byte[] bytes = new byte[length];
    java.util.Arrays.fill(bytes, (byte) number);
    return Slice.of(bytes);
  }

  private OrderedMap open() {
    byte[] head = state.read();
    return OrderedMap.read(head == null ? null : new ByteReader(head), state, 1);
  }

  private void close(OrderedMap map) {
    ByteWriter out = new ByteWriter();
    map.write(out);
    state.write(out.toBytes());
    state.resetCounts();
  }

  private void fill(int entries) {
    OrderedMap map = open();
    for (int i = 0; i < entries; i++) {
      map.put(key(i), value(i, 100));
    }
    close(map);
  }

  private static List<EntryMap.Entry> rest(Iterator<EntryMap.Entry> entries) {
    List<EntryMap.Entry> all = new ArrayList<>();
    entries.forEachRemaining(all::add);
    return all;
  }

  @Test
  void aPartIsGivenOnceWholePagesThatWereWrittenByTheirNumbers() {
    Random random = new Random(5);
    fill(3_000);
    OrderedMap map = open();
    Map<Integer, List<Slice>> written = new TreeMap<>();
    map.tell(
        new OrderedMap.Listener() {
          @Override
          public void written(int number, List<EntryMap.Entry> entries) {
            written.put(number, entries.stream().map(EntryMap.Entry::key).toList());
          }

          @Override
          public void removed(int number) {
            written.remove(number);
          }
        });
    for (int i = 0; i < 3_000; i++) {
      map.put(key(i), value(i, 100)); // Each page is written once while somebody hears of it.
    }
    for (int round = 0; round < 50; round++) {
      int from = random.nextInt(3_000);
      int below = from + random.nextInt(3_000 - from);
      if (round % 5 == 0) {
        close(map);
      }
      map.put(key(random.nextInt(3_000)), value(round, 90));
      List<Slice> found = new ArrayList<>();
      int[] pages = {0};
      map.visit(
          key(from),
          key(below),
          new OrderedMap.Visitor() {
            @Override
            public void page(int number) {
              pages[0]++;
              found.addAll(written.get(number));
            }

            @Override
            public void entry(EntryMap.Entry entry) {
              found.add(entry.key());
            }
          });
      assertEquals(below - from, found.size());
      for (int i = from; i < below; i++) {
        assertEquals(key(i), found.get(i - from));
      }
      assertTrue(below - from < 1_000 || pages[0] > 0, "whole pages are given by number");
    }
  }

  @Test
  void theLastEntryBelowAKeyIsFoundAlsoAcrossPages() {
    for (int entries : new int[] {10, 2_000}) {
      OrderedMap map = open();
      for (int i = 0; i < entries; i++) {
        map.put(key(i * 2), value(i, 100));
      }
      assertNull(map.lastBelow(key(0)));
      for (int i = 1; i <= entries; i++) {
        assertEquals(key(i * 2 - 2), map.lastBelow(key(i * 2)).key());
        assertEquals(key(i * 2 - 2), map.lastBelow(key(i * 2 - 1)).key());
      }
    }
  }

  @Test
  void aSmallMapIsOneValueAndNoPage() {
    fill(100);

    assertFalse(open().isPaged());
    assertEquals(0, state.pageCount());
    assertEquals(100, rest(open().iterator()).size());
  }

  @Test
  void theEntriesBesideAKeyAreFoundInAndBetweenPages() {
    for (int entries : new int[] {0, 10, 20_000}) {
      state.clear();
      fill(entries);
      OrderedMap map = open();
      for (long at : new long[] {0, 1, 7, 161, 162, 9_999, 19_999, 20_000}) {
        EntryMap.Entry above = map.atLeast(key(at));
        EntryMap.Entry below = map.lastBelow(key(at));

        assertEquals(at < entries ? key(at) : null, above == null ? null : above.key());
        long last = Math.min(at, entries) - 1;
        assertEquals(last < 0 ? null : key(last), below == null ? null : below.key());
      }
    }
  }

  @Test
  void aClearedMapHasNoPagesAndTakesEntriesAgain() {
    fill(20_000);
    OrderedMap map = open();

    map.clear();
    map.put(key(3), value(3, 10));
    close(map);

    assertEquals(0, state.pageCount());
    assertEquals(List.of(key(3)), rest(open().iterator()).stream().map(EntryMap.Entry::key).toList());
  }

  @Test
  void aLargeMapHasASmallHeadAndFullPages() {
    fill(100_000);

    assertTrue(open().isPaged());
    assertTrue(state.valueBytes() < state.pageCount() * 20, state.valueBytes() + " bytes of head");
    int full = 100_000 * 112 / OrderedMap.PAGE_BYTES;
    assertTrue(state.pageCount() < full * 5 / 4, state.pageCount() + " pages");
  }

  @Test
  void takingTheLowestCostsThePagesTheyFillHoweverLargeTheMap() {
    for (int entries : new int[] {10_000, 200_000}) {
      fill(entries);
      OrderedMap map = open();

      assertEquals(1_000, map.takeBelow(key(1_000), 5_000).size());
      int pages = 1_000 * 112 / OrderedMap.PAGE_BYTES + 2;
      assertTrue(state.pageReads <= pages * 5 / 4, state.pageReads + " pages read");
      map.write(new ByteWriter());
      assertEquals(1, state.pageWrites);
      state.clear();
    }
  }

  @Test
  void puttingAtTheEndCostsThePagesThatAreFilled() {
    fill(100_000);

    OrderedMap map = open();
    for (int i = 100_000; i < 101_000; i++) {
      map.put(key(i), value(i, 100));
    }
    map.write(new ByteWriter());

    assertEquals(1, state.pageReads);
    assertTrue(state.pageWrites <= 10, state.pageWrites + " pages written");
  }

  @Test
  void noMoreIsTakenThanAskedForAndAPage() {
    fill(10_000);
    OrderedMap map = open();

    int taken = map.takeBelow(key(9_000), 1_000).size();
    assertTrue(taken >= 1_000 && taken < 1_000 + OrderedMap.PAGE_BYTES / 100, taken + " taken");
    assertEquals(10_000 - taken, map.size());
    assertNull(map.get(key(taken - 1)));
    assertEquals(value(taken, 100), map.get(key(taken)));
  }

  @Test
  void aRangeBeginsWhereItIsAskedTo() {
    fill(10_000);

    for (long from : new long[] {0, 1, 4_321, 9_999}) {
      assertEquals(key(from), open().from(key(from)).next().key());
      assertEquals(10_000 - from, rest(open().from(key(from))).size());
    }
    assertFalse(open().from(key(10_000)).hasNext());
  }

  @Test
  void randomChangesLeaveWhatTheyLeaveInATreeMap() {
    for (int seed = 0; seed < 20; seed++) {
      checkAgainstTreeMap(seed);
    }
  }

  private void checkAgainstTreeMap(int seed) {
    Random random = new Random(seed);
    TreeMap<Slice, Slice> expected = new TreeMap<>();
    state.clear();
    OrderedMap map = open();
    int phases = 0;
    for (int i = 0; i < 4_000; i++) {
      boolean grow = i / 1_000 % 2 == 0;
      Slice key = key(random.nextInt(2_000));
      int action = random.nextInt(100);
      if (action < (grow ? 90 : 20)) {
        Slice value = value(i, random.nextInt(200));
        map.put(key, value);
        expected.put(key, value);
      } else if (action < 97) {
        Slice gone = grow || expected.isEmpty() ? key : expected.lastKey();
        assertEquals(expected.remove(gone) != null, map.remove(gone));
      } else {
        Slice bound = key(random.nextInt(grow ? 300 : 2_000));
        Map<Slice, Slice> below = expected.headMap(bound);
        List<EntryMap.Entry> taken = map.takeBelow(bound, Integer.MAX_VALUE);
        assertEquals(List.copyOf(below.keySet()), taken.stream().map(each -> each.key()).toList());
        below.clear();
      }
      if (random.nextInt(40) == 0) {
        close(map);
        map = open();
      }
      assertEquals(expected.get(key), map.get(key), "seed " + seed + ", step " + i);
      assertEquals(expected.size(), map.size(), "seed " + seed + ", step " + i);
      phases |= map.isPaged() ? 1 : 2;
    }
    close(map);
    List<EntryMap.Entry> left = rest(open().iterator());
    assertEquals(List.copyOf(expected.keySet()), left.stream().map(each -> each.key()).toList());
    assertEquals(List.copyOf(expected.values()), left.stream().map(each -> each.value()).toList());
    assertEquals(3, phases, "the map was both small and large");
    OrderedMap last = open();
    last.takeBelow(key(Long.MAX_VALUE), Integer.MAX_VALUE);
    close(last);
    assertEquals(0, state.pageCount(), "seed " + seed);
  }
}
