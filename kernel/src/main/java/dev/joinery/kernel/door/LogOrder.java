package dev.joinery.kernel.door;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
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

    /** Whether a change is of the log that has a record. */
    boolean isOf(int change, Moment record);
  }

  /**
   * Where an order ends.
   *
   * @param key the greatest position or time; {@code Long.MAX_VALUE} for any
   * @param topic that has the last record; below 0 where none is the last
   * @param major its place, with {@code minor}
   */
  record Moment(long key, int topic, long major, long minor) {}

  /** Tells which of some changes a full decoding tells. */
  interface Decoding {
    IntPredicate told(int[] changes);
  }

  private record Placed(long key, int log, int at, int change) {}

  private static final int FIRST_ASKED = 16;
  private static final int MOST_ASKED = 4096;

  private final Places places;
  private final Decoding decoding;
  private final List<int[]> logs;

  LogOrder(Places places, Decoding decoding) {
    this.places = places;
    this.decoding = decoding;
    logs = begun(places.logs());
  }

  /** The first of some changes that is told; asked of more at once the longer none is. */
  private OptionalInt firstTold(int[] changes) {
    int most = FIRST_ASKED;
    for (int from = 0, to; from < changes.length; from = to) {
      to = Math.min(changes.length, from + most);
      most = Math.min(2 * most, MOST_ASKED);
      int[] some = Arrays.copyOfRange(changes, from, to);
      OptionalInt first = IntStream.of(some).filter(decoding.told(some)).findFirst();
      if (first.isPresent()) {
        return first;
      }
    }
    return OptionalInt.empty();
  }

  /** Logs that tell something, in the order of what they tell first. */
  private List<int[]> begun(List<int[]> all) {
    Map<int[], Integer> firsts = new HashMap<>();
    for (int[] log : all) {
      firstTold(log).ifPresent(first -> firsts.put(log, first));
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
        .map(log -> IntStream.of(log).filter(this::isPlaced).toArray())
        .allMatch(log -> firstTold(log).isPresent());
  }

  private boolean isPlaced(int change) {
    return places.position(change) != ChangeIndex.UNPLACED;
  }

  /** Returns changes, all of which are told, in order, as far as that goes until a moment. */
  int[] ordered(Collection<Integer> some, boolean byPosition, Moment until) {
    if (until.topic < 0) {
      return ordered(some, byPosition, until.key);
    }
    OptionalInt last = last(until);
    if (last.isEmpty()) {
      return new int[0];
    }
    List<Integer> withLast = new ArrayList<>(some);
    withLast.add(last.getAsInt());
    int[] ordered = ordered(withLast, byPosition, Long.MAX_VALUE);
    int end = 0;
    while (ordered[end] != last.getAsInt()) {
      end++;
    }
    Set<Integer> wanted = new HashSet<>(some);
    return IntStream.of(ordered).limit(end + 1L).filter(wanted::contains).toArray();
  }

  /** The last change of its log that a record tells, or one before it. */
  private OptionalInt last(Moment record) {
    for (int[] log : logs) {
      if (places.isOf(log[0], record)) {
        int[] changes = IntStream.of(log).filter(each -> isThere(each, record)).toArray();
        int most = changes.length - 1;
        return firstTold(IntStream.rangeClosed(0, most).map(at -> changes[most - at]).toArray());
      }
    }
    return OptionalInt.empty();
  }

  private boolean isThere(int change, Moment record) {
    int byMajor = Long.compare(places.major(change), record.major);
    return byMajor < 0 || (byMajor == 0 && places.minor(change) <= record.minor);
  }

  private int[] ordered(Collection<Integer> some, boolean byPosition, long until) {
    Set<Integer> wanted = new HashSet<>(some);
    List<Placed> placed = new ArrayList<>();
    for (int log = 0; log < logs.size(); log++) {
      place(log, wanted, byPosition, placed);
    }
    placed.removeIf(each -> each.key > until);
    placed.sort(
        Comparator.comparingLong(Placed::key)
            .thenComparingInt(Placed::log)
            .thenComparingInt(Placed::at));
    return placed.stream().mapToInt(Placed::change).toArray();
  }

  private void place(int number, Set<Integer> wanted, boolean byPosition, List<Placed> into) {
    int[] log = logs.get(number);
    long greatest = Long.MIN_VALUE;
    int from = 0;
    for (int at = 0; at < log.length; at++) {
      if (wanted.contains(log[at])) {
        long least = Math.max(greatest, key(log[at], byPosition));
        int[] between = Arrays.copyOfRange(log, from, at);
        greatest = greatest(between, least, byPosition);
        into.add(new Placed(greatest, number, at, log[at]));
        from = at + 1;
      }
    }
  }

  /** The greatest key that some changes tell; {@code least} where none is greater. */
  private long greatest(int[] changes, long least, boolean byPosition) {
    int[] greater =
        IntStream.of(changes)
            .filter(each -> key(each, byPosition) > least)
            .boxed()
            .sorted(Comparator.comparingLong((Integer each) -> key(each, byPosition)).reversed())
            .mapToInt(each -> each)
            .toArray();
    OptionalInt first = firstTold(greater);
    return first.isPresent() ? key(first.getAsInt(), byPosition) : least;
  }

  private long key(int change, boolean byPosition) {
    return byPosition ? places.position(change) : places.written(change);
  }
}
