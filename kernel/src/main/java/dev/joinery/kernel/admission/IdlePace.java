package dev.joinery.kernel.admission;

import java.util.function.LongSupplier;

/**
 * Lets a query that finds nothing look less often than Spark asks, which is every ten
 * milliseconds: it rests a fiftieth of the time since it found something, so what comes is
 * delayed by little of what it was waited for.
 *
 * <p>One thread asks all sources of a query, one after the other, so each thread has a pace of its
 * own: a source that is busy keeps the others awake, and many that are idle rest together.
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
  private long found;
  private long looked;

  IdlePace(LongSupplier millis, Sleeper sleeper) {
    this.millis = millis;
    this.sleeper = sleeper;
    found = millis.getAsLong();
    looked = found;
  }

  /** Returns that of the query whose thread this is. */
  public static IdlePace ofThread() {
    return OF_THREAD.get();
  }

  /** Waits before a look until the rest after the last one is over; not in a thread that ends. */
  public void rest() {
    long now = millis.getAsLong();
    long rest = Math.min(MOST_MS, (now - found) / SHARE);
    long left = looked + rest - now;
    if (left > 0) {
      try {
        sleeper.sleep(left);
      } catch (InterruptedException ending) {
        Thread.currentThread().interrupt();
      }
    }
    looked = millis.getAsLong();
  }

  /** Notes that there is something to read. */
  public void found() {
    found = millis.getAsLong();
  }
}
