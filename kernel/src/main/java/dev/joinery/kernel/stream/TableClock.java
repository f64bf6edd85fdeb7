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
 * <p>The watermark is the newest time of all less the delay; it is past a time that is below it.
 */
final class TableClock {
  private static final long UNKNOWN = Marks.UNKNOWN;

  private final long delayMicros;
  private final long idleMicros;
  private final Map<Long, Long> newest = new TreeMap<>();
  private long quietSince = UNKNOWN;

  /**
   * {@code in} is null for a clock that has heard nothing; {@code idleMicros} is -1 for a table that
   * is never idle.
   */
  TableClock(ByteReader in, long delayMicros, long idleMicros) {
    this.delayMicros = delayMicros;
    this.idleMicros = idleMicros;
    if (in != null) {
      quietSince = in.readLong();
      for (int left = in.readVarInt(); left > 0; left--) {
        newest.put(in.readVarLong(), in.readLong());
      }
    }
  }

  void write(ByteWriter out) {
    out.writeLong(quietSince).writeVarInt(newest.size());
    newest.forEach((partition, time) -> out.writeVarLong(partition).writeLong(time));
  }

  /** Takes what a batch told of the table; returns whether the clock is another by it. */
  boolean hear(Marks marks, long timestamp) {
    boolean changed = !marks.areNone() || quietSince == UNKNOWN;
    if (changed) {
      quietSince = timestamp;
    }
    marks.newest().forEach((partition, time) -> newest.merge(partition, time, Math::max));
    return changed;
  }

  /** The least number where no time of the table is known. */
  long watermark() {
    return less(newest.values().stream().mapToLong(Long::longValue).max().orElse(UNKNOWN));
  }

  /**
   * The watermark of a partition before a change of a batch that was not heard yet, of which {@code
   * time} is the newest time in the partition before the change.
   */
  long watermarkBefore(long partition, long time) {
    return less(Math.max(time, newest.getOrDefault(partition, UNKNOWN)));
  }

  private long less(long time) {
    return time == UNKNOWN ? UNKNOWN : time - delayMicros;
  }

  /** The time so long before the watermark. */
  long before(long micros) {
    long watermark = watermark();
    return watermark == UNKNOWN ? UNKNOWN : watermark - micros;
  }

  boolean isIdle(long timestamp) {
    return idleMicros >= 0 && quietSince != UNKNOWN && timestamp - quietSince >= idleMicros;
  }

  /** Answers for times below this are final. */
  long finalBefore(long timestamp) {
    return isIdle(timestamp) ? Long.MAX_VALUE : watermark();
  }

  /** When the table will be idle, should nothing come of it; -1 for never. */
  long idleAt() {
    return idleMicros < 0 ? -1 : quietSince + idleMicros;
  }
}
