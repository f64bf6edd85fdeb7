package dev.joinery.kernel.chain;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

/**
 * Tells how much of a thread's time its processor worked for it, from one time on.
 *
 * <p>Steps of nodes are too short to ask the processor's clock about each. They are timed by the
 * clock on the wall, and what they took of the processor is this part of it, so that a task that is
 * kept waiting by others does not count as dear.
 */
final class TaskClock {
  private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

  private final long beganAt = System.nanoTime();
  private final long worked = worked();

  /** From 0 to 1; to be asked by the thread that made it. */
  double part() {
    long elapsed = System.nanoTime() - beganAt;
    long now = worked();
    if (elapsed <= 0 || now < 0) {
      return 1; // A JVM that does not tell.
    }
    return Math.min(1, (now - worked) / (double) elapsed);
  }

  private static long worked() {
    return THREADS.isCurrentThreadCpuTimeSupported() ? THREADS.getCurrentThreadCpuTime() : -1;
  }
}
