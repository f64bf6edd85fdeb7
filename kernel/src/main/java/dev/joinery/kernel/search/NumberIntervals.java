package dev.joinery.kernel.search;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.function.Consumer;

/**
 * As {@link Intervals}, of numbers, whose ends stand side by side: nothing else is read of the
 * intervals that do not hold one.
 */
final class NumberIntervals<T> {
  /** {@code low} above {@code high} holds nothing. */
  record Interval<T>(long low, long high, T value) {}

  /** Stretches up to this long are gone through. */
  private static final int STRETCH = 16;

  private final List<T> values = new ArrayList<>();
  private final long[] lows;
  private final long[] highs;

  /** By the middle of a stretch. */
  private final long[] highest;

  NumberIntervals(List<Interval<T>> intervals) {
    List<Interval<T>> ordered = new ArrayList<>(intervals);
    ordered.sort(Comparator.comparingLong(Interval::low));
    lows = new long[ordered.size()];
    highs = new long[ordered.size()];
    highest = new long[ordered.size()];
    for (int i = 0; i < lows.length; i++) {
      lows[i] = ordered.get(i).low();
      highs[i] = ordered.get(i).high();
      values.add(ordered.get(i).value());
    }
    note(0, lows.length);
  }

  private long note(int from, int to) {
    if (from >= to) {
      return Long.MIN_VALUE;
    }
    int middle = (from + to) >>> 1;
    long others = Math.max(note(from, middle), note(middle + 1, to));
    return highest[middle] = Math.max(highs[middle], others);
  }

  void holding(long number, Consumer<T> found) {
    find(0, lows.length, number, found);
  }

  private void find(int from, int to, long number, Consumer<T> found) {
    if (to - from <= STRETCH) {
      for (int i = from; i < to && lows[i] <= number; i++) {
        if (highs[i] >= number) {
          found.accept(values.get(i));
        }
      }
      return;
    }
    int middle = (from + to) >>> 1;
    if (highest[middle] < number) {
      return;
    }
    find(from, middle, number, found);
    if (lows[middle] > number) {
      return; // and so are all behind it
    }
    if (highs[middle] >= number) {
      found.accept(values.get(middle));
    }
    find(middle + 1, to, number, found);
  }
}
