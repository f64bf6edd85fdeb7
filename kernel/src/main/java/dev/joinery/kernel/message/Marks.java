package dev.joinery.kernel.message;

import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import java.util.Map;
import java.util.TreeMap;

/**
 * What a batch tells of the time of a table's log: the runs in which its tasks read each partition
 * of it, and the newest time of each run.
 */
public final class Marks {
  /** No time is known. */
  public static final long UNKNOWN = Long.MIN_VALUE;

  /**
   * The partition of changes that stand in no order within their batch: the log's time moves with
   * the end of the batch alone.
   */
  public static final long UNORDERED = -1;

  private record Place(long major, long minor) implements Comparable<Place> {
    @Override
    public int compareTo(Place other) {
      int byMajor = Long.compare(major, other.major);
      return byMajor != 0 ? byMajor : Long.compare(minor, other.minor);
    }
  }

  /** By partition, then by where a run begins. */
  private final Map<Long, TreeMap<Place, Long>> runs = new TreeMap<>();

  public boolean areNone() {
    return runs.isEmpty();
  }

  /** Takes a run: a task reads a partition in the order of its places. */
  public void add(long partition, long major, long minor, long newest) {
    runs.computeIfAbsent(partition, each -> new TreeMap<>())
        .merge(new Place(major, minor), newest, Math::max);
  }

  public void read(ByteReader in) {
    while (in.hasMore()) {
      add(in.readVarLong(), in.readVarLong(), in.readVarLong(), in.readLong());
    }
  }

  void write(ByteWriter out) {
    runs.forEach(
        (partition, ofPartition) ->
            ofPartition.forEach(
                (place, newest) ->
                    out.writeVarLong(partition)
                        .writeVarLong(place.major())
                        .writeVarLong(place.minor())
                        .writeLong(newest)));
  }

  /** The newest time in the runs of a partition before the one that a place is in. */
  public long newestBefore(long partition, long major, long minor) {
    TreeMap<Place, Long> ofPartition = runs.get(partition);
    Place run = ofPartition == null ? null : ofPartition.floorKey(new Place(major, minor));
    if (run == null || partition == UNORDERED) {
      return UNKNOWN;
    }
    return newest(ofPartition.headMap(run));
  }

  /** The newest time by partition. */
  public Map<Long, Long> newest() {
    Map<Long, Long> all = new TreeMap<>();
    runs.forEach((partition, ofPartition) -> all.put(partition, newest(ofPartition)));
    return all;
  }

  private static long newest(Map<Place, Long> runs) {
    return runs.values().stream().mapToLong(Long::longValue).max().orElse(UNKNOWN);
  }
}
