package dev.joinery.kernel.node;

import dev.joinery.kernel.message.Marks;
import java.util.List;

/**
 * How far a relation had come before a batch.
 *
 * @param watermark {@link Marks#UNKNOWN} for none
 * @param ends each time that its logs were taken as ended
 */
public record Reached(long watermark, List<End> ends) {
  /** Nothing is known. */
  public static final Reached NOTHING = new Reached(Marks.UNKNOWN, List.of());

  /**
   * An end of logs: all that had begun by then was closed, ahead of the watermark.
   *
   * @param watermark as it was; {@link Marks#UNKNOWN} for none
   * @param newest the newest time in any partition
   */
  public record End(long watermark, long newest) {
    boolean closed(long start, long end, long allowed) {
      return start <= newest && (watermark == Marks.UNKNOWN || end + allowed > watermark);
    }
  }

  /** Whether a window was closed ahead of the watermark, in which rows may be so much late. */
  boolean hasEnded(long start, long end, long allowed) {
    for (End each : ends) {
      if (each.closed(start, end, allowed)) {
        return true;
      }
    }
    return false;
  }
}
