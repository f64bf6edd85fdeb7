package dev.joinery.kernel.state;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class EntryMapTest {
  private final MemoryState state = new MemoryState();

  private static Slice key(long number) {
    return Slice.of(new ByteWriter().writeLong(number).toBytes());
  }

  private static Slice value(int number, int length) {
    byte[] bytes = new byte[length];
    for (int i = 0; i < length; i++) {
      bytes[i] = (byte) (number + i);
    }
    return Slice.of(bytes);
  }

  private EntryMap open() {
    byte[] head = state.read();
    return EntryMap.read(head == null ? null : new ByteReader(head), state, 1);
  }

  private void close(EntryMap map) {
    ByteWriter out = new ByteWriter();
    map.write(out);
    state.write(out.toBytes());
  }

  private static Map<Slice, Slice> contents(EntryMap map) {
    Map<Slice, Slice> contents = new HashMap<>();
    for (Iterator<EntryMap.Entry> each = map.iterator(); each.hasNext(); ) {
      EntryMap.Entry entry = each.next();
      assertNull(contents.put(entry.key(), entry.value()), "an entry came twice");
    }
    return contents;
  }

  private void fill(int entries) {
    EntryMap map = open();
    List<Integer> numbers = IntStream.range(0, entries).boxed().toList();
    for (int i : map.inPageOrder(numbers, each -> key(each))) {
      map.put(key(i), value(i, 30));
    }
    close(map);
    state.resetCounts();
  }

  @Test
  void aSmallMapIsOneValueAndNoPage() {
    fill(100);

    assertFalse(open().isPaged());
    assertEquals(0, state.pageCount());
    assertEquals(100, contents(open()).size());
  }

  @Test
  void aLargeMapIsPagesOfAboutOneSize() {
    fill(20_000);

    EntryMap map = open();
    assertTrue(map.isPaged());
    assertEquals(20_000, map.size());
    assertTrue(state.valueBytes() < 32, "the head holds no entries");
    long pages = 20_000L * 42 / EntryMap.PAGE_BYTES;
    assertTrue(state.pageCount() >= pages && state.pageCount() <= 2 * pages + 2);
  }

  @Test
  void anEmptiedMapStartsSmallAgainAndLeavesNoPage() {
    fill(5_000);
    EntryMap map = open();
    for (int i = 0; i < 5_000; i++) {
      map.remove(key(i));
    }
    map.put(key(7), value(7, 3));
    close(map);

    assertFalse(open().isPaged());
    assertEquals(Map.of(key(7), value(7, 3)), contents(open()));
    assertEquals(0, state.pageCount());
  }

  @Test
  void aMapThatShrinksGivesItsPagesBackOneAtATime() {
    fill(20_000);
    int pagesBefore = state.pageCount();

    EntryMap map = open();
    for (int i = 0; i < 19_000; i++) {
      map.remove(key(i));
    }
    close(map);

    assertTrue(pagesBefore > 50);
    assertTrue(state.pageCount() < pagesBefore / 6, state.pageCount() + " pages");
    assertEquals(1_000, contents(open()).size());
    for (int i = 19_000; i < 20_000; i++) {
      assertEquals(value(i, 30), open().get(key(i)));
    }
  }

  @Test
  void aRemoveCostsFewPagesAlsoWhereItGivesOneBack() {
    fill(200_000);
    EntryMap map = open();
    int most = 0;
    for (int i = 0; i < 190_000; i++) {
      state.resetCounts();
      map.remove(key(i));
      most = Math.max(most, state.pageRemoves);
    }

    assertTrue(most <= 2, most + " pages given back at once");
  }

  @Test
  void aPutCostsFewPagesHoweverLargeTheMap() {
    fill(200_000);

    for (int i = 0; i < 50; i++) {
      state.resetCounts();
      EntryMap map = open();
      map.put(key(1_000_000 + i), value(i, 30));
      close(map);
      assertTrue(state.pageReads <= 3, state.pageReads + " pages read");
      assertTrue(state.pageWrites <= 3, state.pageWrites + " pages written");
      assertTrue(state.bytesWritten() < 4 * EntryMap.PAGE_BYTES * 2, state.bytesWritten() + " bytes");
    }
  }

  @Test
  void manyPutsInPageOrderReadAndWriteAPageOnceARun() {
    List<Slice> keys = new ArrayList<>();
    for (int i = 0; i < 100_000; i++) {
      keys.add(key(i));
    }

    EntryMap map = open();
    for (Slice key : map.inPageOrder(keys, each -> each)) {
      map.put(key, value(1, 30));
    }
    close(map);

    assertEquals(100_000, contents(open()).size());
    assertTrue(state.pageWrites < 6 * state.pageCount(), state.pageWrites + " pages written");
  }

  @Test
  void pageOrderKeepsAllElements() {
    fill(10_000);
    List<Slice> keys = new ArrayList<>();
    for (int i = 0; i < 30_000; i++) {
      keys.add(key(i % 20_000));
    }

    List<Slice> ordered = open().inPageOrder(keys, each -> each);

    assertEquals(keys.stream().sorted().toList(), ordered.stream().sorted().toList());
  }

  @Test
  void aReadAndARemoveCostOnePage() {
    fill(200_000);

    EntryMap map = open();
    assertEquals(value(77, 30), map.get(key(77)));
    assertEquals(1, state.pageReads);
    close(map);
    assertEquals(0, state.pageWrites);

    state.resetCounts();
    EntryMap again = open();
    again.remove(key(77));
    close(again);
    assertEquals(1, state.pageReads);
    assertEquals(1, state.pageWrites);
    assertNull(open().get(key(77)));
  }

  @Test
  void twoMapsOfOneAddressKeepTheirPagesApart() {
    EntryMap one = new EntryMap(state, 0);
    EntryMap other = new EntryMap(state, 1);
    for (int i = 0; i < 3_000; i++) {
      one.put(key(i), value(i, 30));
      other.put(key(i), value(-i, 30));
    }
    one.write(new ByteWriter());
    other.write(new ByteWriter());

    assertEquals(value(9, 30), one.get(key(9)));
    assertEquals(value(-9, 30), other.get(key(9)));
    assertEquals(3_000, contents(one).size());
  }

  @Test
  void aValueLargerThanAPageIsKept() {
    fill(2_000);
    EntryMap map = open();
    map.put(key(5), value(5, 100_000));
    close(map);

    assertEquals(value(5, 100_000), open().get(key(5)));
    assertEquals(2_000, contents(open()).size());
  }

  @Test
  void anIterationReadsAPageAtATime() {
    fill(50_000);

    Iterator<EntryMap.Entry> entries = open().iterator();
    for (int i = 0; i < 10; i++) {
      entries.next();
    }

    assertEquals(1, state.pageReads);
  }

  @Test
  void randomChangesLeaveWhatTheyLeaveInAHashMap() {
    for (int seed = 0; seed < 20; seed++) {
      checkAgainstHashMap(seed);
    }
  }

  /** Grows and shrinks in turn, so that the map is paged and empty many times. */
  private void checkAgainstHashMap(int seed) {
    Random random = new Random(seed);
    Map<Slice, Slice> expected = new HashMap<>();
    state.clear();
    EntryMap map = open();
    int phases = 0;
    for (int i = 0; i < 6_000; i++) {
      boolean grow = i / 1_500 % 2 == 0;
      Slice key = key(random.nextInt(900));
      if (random.nextInt(10) < (grow ? 9 : 1)) {
        Slice value = value(random.nextInt(), random.nextInt(120));
        map.put(key, value);
        expected.put(key, value);
      } else {
        Slice gone = grow || expected.isEmpty() ? key : expected.keySet().iterator().next();
        map.remove(gone);
        expected.remove(gone);
      }
      if (random.nextInt(40) == 0) {
        close(map);
        map = open();
      }
      Slice asked = key(random.nextInt(900));
      assertEquals(expected.get(asked), map.get(asked), "seed " + seed + ", step " + i);
      assertEquals(expected.size(), map.size(), "seed " + seed + ", step " + i);
      phases |= map.isPaged() ? 1 : 2;
    }
    close(map);
    assertEquals(expected, contents(open()), "seed " + seed);
    assertEquals(3, phases, "the map was both small and large");
    List<Slice> left = new ArrayList<>(expected.keySet());
    EntryMap last = open();
    left.forEach(last::remove);
    close(last);
    assertEquals(0, state.pageCount(), "seed " + seed);
  }

  @Test
  void whatIsLookedForOftenIsFoundWhateverBecameOfTheOthers() {
    for (int entries : List.of(10, 300, 1_500, 6_000)) {
      EntryMap map = new EntryMap(new MemoryState(), 1);
      Map<Slice, Slice> expected = new HashMap<>();
      Random dice = new Random(entries);
      for (int i = 0; i < entries * 12; i++) {
        Slice key = key(dice.nextInt(entries));
        if (dice.nextInt(10) == 0) {
          map.remove(key);
          expected.remove(key);
        } else if (dice.nextInt(3) == 0) {
          Slice value = value(i, 1 + dice.nextInt(20));
          map.put(key, value);
          expected.put(key, value);
        }
        Slice asked = key(dice.nextInt(entries + 10));
        assertEquals(expected.get(asked), map.get(asked));
      }
      assertEquals(expected, contents(map));
      map.clear();
      assertNull(map.get(key(1)));
    }
  }
}
