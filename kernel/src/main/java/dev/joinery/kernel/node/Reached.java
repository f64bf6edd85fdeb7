package dev.joinery.kernel.node;

import dev.joinery.kernel.message.Marks;
import java.util.List;

/**
 * How far a relation had come before a batch.
 *
 * @param watermark {@link Marks#UNKNOWN} for none
 * @param ends each time that its logs were taken as ended, in that order; neither their watermarks
 *     nor their newest times fall
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
  public record End(long watermark, long newest) {}

  /** Whether a window was closed ahead of the watermark, in which rows may be so much late. */
  boolean hasEnded(long start, long end, long allowed) {
    int ahead = countBelow(end + allowed);
    // Of the ends at which it had not been closed by the watermark the last has the newest time.
    return ahead > 0 && start <= ends.get(ahead - 1).newest();
  }

  /** At how many ends the watermark was below a time, or unknown, which is below all. */
  private int countBelow(long time) {
    int low = 0;
    int high = ends.size();
    while (low < high) {
      int middle = (low + high) >>> 1;
      if (ends.get(middle).watermark() < time) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }
}
