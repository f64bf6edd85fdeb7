package dev.joinery.kernel.admission;

import java.util.HashSet;
import java.util.Set;
import java.util.function.LongSupplier;

/**
 * Lets a query that finds nothing look less often than Spark asks, which is every ten
 * milliseconds: it rests a fiftieth of the time since it found something, so what comes is
 * delayed by little of what it was waited for.
 *
 * <p>One thread asks all sources of a query, one after the other, so each thread has a pace of its
 * own: a source that is busy keeps the others awake, and however many are idle, it rests once
 * before all of them.
 */
public final class IdlePace {
  static final long SHARE = 50;
  static final long MOST_MS = 250;

  /** Waits. */
  interface Sleeper {
    void sleep(long millis) throws InterruptedException;
  }

  private static final ThreadLocal<IdlePace> OF_THREAD =
      ThreadLocal.withInitial(
          () -> new IdlePace(() -> System.nanoTime() / 1_000_000, Thread::sleep));

  private final LongSupplier millis;
  private final Sleeper sleeper;

  /** The sources that have looked in this round. */
  private final Set<Object> looked = new HashSet<>();

  private long found;
  private long begun;

  IdlePace(LongSupplier millis, Sleeper sleeper) {
    this.millis = millis;
    this.sleeper = sleeper;
    found = millis.getAsLong();
    begun = found;
  }

  /** Returns that of the query whose thread this is. */
  public static IdlePace ofThread() {
    return OF_THREAD.get();
  }

  /** Waits before a round of looks, which the source begins that has looked in the last one. */
  public void rest(Object source) {
    if (!looked.add(source)) {
      waitForNext();
      looked.clear();
      looked.add(source);
    }
    if (looked.size() == 1) {
      begun = millis.getAsLong();
    }
  }

  /** Until the rest after the last round is over; not in a thread that ends. */
  private void waitForNext() {
    long now = millis.getAsLong();
    long left = begun + Math.min(MOST_MS, (now - found) / SHARE) - now;
    if (left > 0) {
      try {
        sleeper.sleep(left);
      } catch (InterruptedException ending) {
        Thread.currentThread().interrupt();
      }
    }
  }

  /** Notes that there is something to read. */
  public void found() {
    found = millis.getAsLong();
  }
}
