package dev.joinery.kernel.admission;

import java.util.function.BooleanSupplier;

/**
 * A rest within a look of Spark's: a source that had nothing looks by itself until something comes, since a look of
 * Spark's costs many times as much.
 *
 * <p>One source of a query rests while the others are not looked at, so only a lone one may.
 */
public final class Rest {
  /** How often a source looks, which delays what comes by half of it on average. */
  static final long LOOK_MS = 40;

  private final long mostMillis;

  /**
   * @param mostMillis how long one rest lasts; 0 for none
   */
  public Rest(long mostMillis) {
    this.mostMillis = mostMillis;
  }

  /** Waits until there is something to read, or the rest is over, or the query is ended. */
  public void until(BooleanSupplier news) {
    long end = System.nanoTime() + mostMillis * 1_000_000;
    while (System.nanoTime() < end && !news.getAsBoolean()) {
      try {
        Thread.sleep(LOOK_MS);
      } catch (InterruptedException ending) {
        Thread.currentThread().interrupt();
        return;
      }
    }
  }
}
