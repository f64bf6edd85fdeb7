package dev.joinery.kernel.search;

import dev.joinery.kernel.bytes.Slice;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.function.Consumer;

/**
 * Intervals of codes, ends included, of which those that hold a code are found without looking at
 * all: in the order of their lower ends, with the highest upper end of each stretch beside them.
 */
final class Intervals<T> {
  /** Null where there is no end. */
  record Interval<T>(Slice low, Slice high, T value) {}

  private static final Comparator<Slice> NO_END_FIRST =
      Comparator.nullsFirst(Comparator.naturalOrder());
  private static final Comparator<Slice> NO_END_LAST =
      Comparator.nullsLast(Comparator.naturalOrder());

  private final List<Interval<T>> ordered;

  /** By the middle of a stretch; null where one of its intervals has no upper end. */
  private final Slice[] highest;

  Intervals(List<Interval<T>> intervals) {
    ordered = new ArrayList<>(intervals);
    ordered.sort(Comparator.comparing(Interval::low, NO_END_FIRST));
    highest = new Slice[ordered.size()];
    if (!ordered.isEmpty()) {
      note(0, ordered.size());
    }
  }

  private Slice note(int from, int to) {
    int middle = (from + to) >>> 1;
    Slice most = ordered.get(middle).high();
    if (from < middle) {
      most = later(most, note(from, middle));
    }
    if (middle + 1 < to) {
      most = later(most, note(middle + 1, to));
    }
    return highest[middle] = most;
  }

  private static Slice later(Slice one, Slice other) {
    return NO_END_LAST.compare(one, other) >= 0 ? one : other;
  }

  void holding(Slice code, Consumer<T> found) {
    find(0, ordered.size(), code, found);
  }

  private void find(int from, int to, Slice code, Consumer<T> found) {
    if (from >= to) {
      return;
    }
    int middle = (from + to) >>> 1;
    if (highest[middle] != null && highest[middle].compareTo(code) < 0) {
      return;
    }
    find(from, middle, code, found);
    Interval<T> each = ordered.get(middle);
    if (each.low() != null && each.low().compareTo(code) > 0) {
      return; // and so are all behind it
    }
    if (each.high() == null || each.high().compareTo(code) >= 0) {
      found.accept(each.value());
    }
    find(middle + 1, to, code, found);
  }
}
