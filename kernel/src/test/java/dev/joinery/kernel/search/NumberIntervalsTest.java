package dev.joinery.kernel.search;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;

class NumberIntervalsTest {
  @Test
  void thoseThatHoldANumberAreFoundWhateverTheirNumberAndEnds() {
    for (int seed = 0; seed < 60; seed++) {
      Random pick = new Random(seed);
      List<NumberIntervals.Interval<Integer>> intervals = new ArrayList<>();
      for (int i = pick.nextInt(200); i > 0; i--) {
        intervals.add(new NumberIntervals.Interval<>(end(pick), end(pick), i));
      }
      NumberIntervals<Integer> index = new NumberIntervals<>(intervals);
      for (int i = 0; i < 50; i++) {
        long number = end(pick);
        List<Integer> found = new ArrayList<>();
        index.holding(number, found::add);
        assertEquals(holding(intervals, number), new HashSet<>(found), "seed " + seed);
        assertEquals(found.size(), new HashSet<>(found).size(), "seed " + seed);
      }
    }
  }

  private static long end(Random pick) {
    return switch (pick.nextInt(8)) {
      case 0 -> Long.MIN_VALUE;
      case 1 -> Long.MAX_VALUE;
      default -> pick.nextInt(40) - 20;
    };
  }

  private static Set<Integer> holding(
      List<NumberIntervals.Interval<Integer>> intervals, long number) {
    Set<Integer> found = new HashSet<>();
    for (NumberIntervals.Interval<Integer> each : intervals) {
      if (each.low() <= number && number <= each.high()) {
        found.add(each.value());
      }
    }
    return found;
  }
}
