package dev.joinery.kernel.stream;

import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.message.Marks;
import java.util.Map;
import java.util.TreeMap;

/**
 * What one address knows of a whole table's time: the newest time in each partition of its log, and
 * since when nothing came of it. A table of which nothing ever came is quiet from the first batch
 * that brought anything: {@link LogClock} has all addresses hear of it.
 *
 * <p>The watermark is the least over the partitions of the newest time of each, less the delay;
 * partitions that are quiet are left out, and it never falls. It is past a time that is below it.
 */
final class TableClock {
  private static final long UNKNOWN = Marks.UNKNOWN;

  private final long delayMicros;
  private final long idleMicros;
  private final Map<Long, Partition> partitions = new TreeMap<>();
  private long began = UNKNOWN;
  private long reached = UNKNOWN;

  /** The newest time in a partition, and when something was read of it last. */
  private record Partition(long newest, long heard) {
    static Partition latest(Partition one, Partition other) {
      return new Partition(
          Math.max(one.newest, other.newest), Math.max(one.heard, other.heard));
    }
  }

  /**
   * {@code in} is null for a clock that has heard nothing; {@code idleMicros} is -1 for a table that
   * is never idle.
   */
  TableClock(ByteReader in, long delayMicros, long idleMicros) {
    this.delayMicros = delayMicros;
    this.idleMicros = idleMicros;
    if (in != null) {
      began = in.readLong();
      reached = in.readLong();
      for (int left = in.readVarInt(); left > 0; left--) {
        partitions.put(in.readVarLong(), new Partition(in.readLong(), in.readLong()));
      }
    }
  }

  void write(ByteWriter out) {
    out.writeLong(began).writeLong(reached).writeVarInt(partitions.size());
    partitions.forEach(
        (number, each) ->
            out.writeVarLong(number).writeLong(each.newest).writeLong(each.heard));
  }

  /**
   * Takes what a batch told of the table, at its end; returns whether the clock is another by it.
   */
  boolean hear(Marks marks, long timestamp) {
    boolean changed = !marks.areNone() || began == UNKNOWN;
    if (began == UNKNOWN) {
      began = timestamp;
    }
    marks
        .newest()
        .forEach(
            (number, time) ->
                partitions.merge(number, new Partition(time, timestamp), Partition::latest));
    return advance(timestamp) || changed;
  }

  /** Returns whether the watermark is another: by what was heard, or as partitions fell quiet. */
  private boolean advance(long timestamp) {
    long before = reached;
    reached = watermark(timestamp);
    return reached != before;
  }

  /** The watermark at a time; the least number where none is known. */
  private long watermark(long timestamp) {
    long least = Long.MAX_VALUE;
    for (Partition each : partitions.values()) {
      if (each.newest != UNKNOWN && !isQuiet(each.heard, timestamp)) {
        least = Math.min(least, each.newest);
      }
    }
    return least == Long.MAX_VALUE ? reached : Math.max(reached, less(least));
  }

  /** The watermark at the end of the last batch that was heard; the least number for none. */
  long watermark() {
    return reached;
  }

  /**
   * The watermark of a partition before a change of a batch that was not heard yet, of which {@code
   * time} is the newest time in the partition before the change.
   */
  long watermarkBefore(long partition, long time) {
    Partition known = partitions.get(partition);
    return less(known == null ? time : Math.max(time, known.newest));
  }

  private long less(long time) {
    return time == UNKNOWN ? UNKNOWN : time - delayMicros;
  }

  /** The time so long before the watermark. */
  long before(long micros) {
    return reached == UNKNOWN ? UNKNOWN : reached - micros;
  }

  private boolean isQuiet(long since, long timestamp) {
    return idleMicros >= 0 && timestamp - since >= idleMicros;
  }

  /** Whether nothing at all came of the table for so long that nobody waits for it. */
  private boolean isIdle(long timestamp) {
    return began != UNKNOWN && isQuiet(lastHeard(), timestamp);
  }

  private long lastHeard() {
    return partitions.values().stream().mapToLong(Partition::heard).max().orElse(began);
  }

  /** Answers for times below this are final. */
  long finalBefore(long timestamp) {
    return isIdle(timestamp) ? Long.MAX_VALUE : watermark(timestamp);
  }

  /**
   * When the next partition will be quiet, or the whole table, should nothing come of it; -1 for
   * never.
   */
  long idleAt(long timestamp) {
    if (idleMicros < 0 || isIdle(timestamp)) {
      return -1;
    }
    return partitions.values().stream()
            .mapToLong(Partition::heard)
            .filter(heard -> !isQuiet(heard, timestamp))
            .min()
            .orElse(began)
        + idleMicros;
  }
}
