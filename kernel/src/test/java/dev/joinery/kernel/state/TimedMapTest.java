package dev.joinery.kernel.state;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

class TimedMapTest {
  private final MemoryState state = new MemoryState();

  private static Slice bytes(long number) {
    return Slice.of(new ByteWriter().writeLong(number).writeLong(number).toBytes());
  }

  private TimedMap open() {
    byte[] head = state.read();
    return TimedMap.read(head == null ? null : new ByteReader(head), state, 2);
  }

  private void close(TimedMap map) {
    ByteWriter out = new ByteWriter();
    map.write(out);
    state.write(out.toBytes());
  }

  @Test
  void whatIsOverCostsNoLookAtTheRest() {
    int[] reads = new int[2];
    for (int round = 0; round < 2; round++) {
      state.clear();
      TimedMap map = open();
      List<Long> times = LongStream.range(0, 20_000L * (1 + 4 * round)).boxed().toList();
      for (long time : map.inPageOrder(times, each -> bytes(each))) {
        map.put(bytes(time), time, bytes(-time));
      }
      close(map);
      state.resetCounts();

      assertEquals(20, open().takeBefore(20, 1_000).size());
      reads[round] = state.pageReads;
    }

    assertTrue(reads[0] <= 22 && reads[1] <= 22, reads[0] + " and " + reads[1] + " pages read");
  }

  @Test
  void timesBefore1970ComeFirst() {
    TimedMap map = open();
    map.put(bytes(1), 5, bytes(1));
    map.put(bytes(2), -5, bytes(2));

    assertEquals(
        List.of(-5L, 5L),
        map.takeBefore(Long.MAX_VALUE, 10).stream().map(TimedMap.Timed::time).toList());
  }

  @Test
  void randomChangesLeaveWhatTheyLeaveInAHashMap() {
    for (int seed = 0; seed < 10; seed++) {
      checkAgainstHashMap(seed);
    }
  }

  private void checkAgainstHashMap(int seed) {
    Random random = new Random(seed);
    Map<Slice, TimedMap.Timed> expected = new HashMap<>();
    state.clear();
    TimedMap map = open();
    for (int i = 0; i < 5_000; i++) {
      Slice identity = bytes(random.nextInt(seed % 2 == 0 ? 1_500 : 200));
      int action = random.nextInt(100);
      if (action < 80) {
        TimedMap.Timed put = new TimedMap.Timed(identity, random.nextInt(100), bytes(i));
        map.put(identity, put.time(), put.value());
        expected.put(identity, put);
      } else if (action < 98) {
        assertEquals(expected.remove(identity) != null, map.remove(identity));
      } else {
        long before = random.nextInt(i > 3_000 ? 150 : 20);
        List<TimedMap.Timed> over = new ArrayList<>(expected.values());
        over.removeIf(each -> each.time() >= before);
        over.sort(
            Comparator.comparing(TimedMap.Timed::time)
                .thenComparing(each -> EntryMap.pageOrder(each.identity())));
        assertEquals(over, map.takeBefore(before, Integer.MAX_VALUE));
        over.forEach(each -> expected.remove(each.identity()));
      }
      if (random.nextInt(50) == 0) {
        close(map);
        map = open();
      }
      assertEquals(expected.get(identity), map.get(identity), "seed " + seed + ", step " + i);
      assertEquals(expected.size(), map.size(), "seed " + seed + ", step " + i);
    }
    map.takeBefore(Long.MAX_VALUE, Integer.MAX_VALUE);
    assertNull(map.get(bytes(1)));
    close(map);
    assertEquals(0, state.pageCount(), "seed " + seed);
  }
}
