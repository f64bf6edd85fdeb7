package dev.joinery.kernel.door;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.IntPredicate;
import java.util.stream.IntStream;

/**
 * Puts some changes of several logs in the order in which all of them were written, as {@code
 * provenance/logs.py} has it: each log in its own order, between logs by the greatest position, or
 * the latest time, that the log has told so far.
 *
 * <p>A change that a full decoding refuses tells nothing. Which do is asked only of those that decide
 * about the order of others.
 */
final class LogOrder {
  /** Where all changes stand. */
  interface Places {
    /** The changes of each log, in its order. */
    List<int[]> logs();

    long major(int change);

    long minor(int change);

    int relation(int change);

    long position(int change);

    long written(int change);
  }

  private record Placed(long key, int log, int at, int change) {}

  private final Places places;
  private final IntPredicate told;
  private final List<int[]> logs;

  /** {@code told}: whether a full decoding tells a change. */
  LogOrder(Places places, IntPredicate told) {
    this.places = places;
    this.told = told;
    logs = begun(places.logs());
  }

  /** Logs that tell something, in the order of what they tell first. */
  private List<int[]> begun(List<int[]> all) {
    Map<int[], Integer> firsts = new HashMap<>();
    for (int[] log : all) {
      IntStream.of(log).filter(told).findFirst().ifPresent(first -> firsts.put(log, first));
    }
    List<int[]> begun = new ArrayList<>(firsts.keySet());
    begun.sort(
        Comparator.comparingLong((int[] each) -> places.major(firsts.get(each)))
            .thenComparingLong(each -> places.minor(firsts.get(each)))
            .thenComparingInt(each -> places.relation(firsts.get(each))));
    return begun;
  }

  /** Whether each log tells a position. */
  boolean isPlaced() {
    return logs.stream()
        .allMatch(
            log ->
                IntStream.of(log)
                    .filter(each -> places.position(each) != ChangeIndex.UNPLACED)
                    .anyMatch(told));
  }

  /** Returns changes, all of which are told, in order. */
  int[] ordered(Collection<Integer> some, boolean byPosition) {
    Set<Integer> wanted = new HashSet<>(some);
    List<Placed> placed = new ArrayList<>();
    for (int log = 0; log < logs.size(); log++) {
      place(log, wanted, byPosition, placed);
    }
    placed.sort(
        Comparator.comparingLong(Placed::key)
            .thenComparingInt(Placed::log)
            .thenComparingInt(Placed::at));
    return placed.stream().mapToInt(Placed::change).toArray();
  }

  private void place(int number, Set<Integer> wanted, boolean byPosition, List<Placed> into) {
    int[] log = logs.get(number);
    int[] places = IntStream.range(0, log.length).filter(at -> wanted.contains(log[at])).toArray();
    long[] keys = new long[log.length];
    Arrays.setAll(keys, at -> key(log[at], byPosition));
    Set<Integer> refused = new HashSet<>();
    for (List<Placed> found = null; found == null; ) {
      found = placed(number, log, keys, places, refused);
      if (found != null) {
        into.addAll(found);
      }
    }
  }

  /** Returns null, with more that are refused, where one of these had decided. */
  private List<Placed> placed(
      int number, int[] log, long[] keys, int[] wanted, Set<Integer> refused) {
    List<Placed> found = new ArrayList<>();
    int greatest = -1;
    int at = 0;
    boolean right = true;
    for (int place : wanted) {
      for (; at <= place; at++) {
        if ((greatest < 0 || keys[at] > keys[greatest]) && !refused.contains(log[at])) {
          greatest = at;
        }
      }
      if (keys[place] < keys[greatest] && !told.test(log[greatest])) {
        refused.add(log[greatest]);
        right = false;
        break;
      }
      found.add(new Placed(keys[greatest], number, place, log[place]));
    }
    return right ? found : null;
  }

  private long key(int change, boolean byPosition) {
    return byPosition ? places.position(change) : places.written(change);
  }
}
