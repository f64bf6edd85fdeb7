package dev.joinery.kernel.spark;

import java.util.concurrent.Semaphore;
import java.util.regex.Pattern;
import org.apache.spark.SparkContext;

/**
 * How many of a session's slots jobs may take whose tasks wait for each other; remembers how many
 * they have.
 *
 * <p>Such a job needs slots for all its tasks at once. All other jobs end by themselves and leave
 * theirs, so it is enough that those which wait have no more than there are. Tasks that never end,
 * those of real-time mode, leave none: once there are any, no job may wait.
 */
public final class StageSlots {
  /** Only a session of ours says so: in a user's own, other tasks may never end. */
  private static final String SETTING = "spark.joinery.oneStage";

  // With `local[2,3]` a task that fails is tried again, which one that has left rows cannot be.
  private static final Pattern ONE_PROCESS = Pattern.compile("local(\\[(\\d+|\\*)])?");

  private static StageSlots last;

  private final SparkContext context;
  private final int slots;
  private final Semaphore free;
  private volatile boolean closed;

  StageSlots(SparkContext context, int slots) {
    this.context = context;
    this.slots = slots;
    this.free = new Semaphore(slots, true);
  }

  /** Those of a session; a JVM has one at a time. */
  public static synchronized StageSlots of(SparkContext context) {
    if (last == null || last.context != context) {
      last = new StageSlots(context, isOneProcess(context) ? slots(context) : 0);
    }
    return last;
  }

  private static boolean isOneProcess(SparkContext context) {
    return context.conf().getBoolean(SETTING, false)
        && ONE_PROCESS.matcher(context.master()).matches();
  }

  private static int slots(SparkContext context) {
    return context.maxNumConcurrentTasks(
        context.resourceProfileManager().defaultResourceProfile());
  }

  int count() {
    return slots;
  }

  /** Whether this many tasks may wait for each other. */
  boolean fits(int tasks) {
    return !closed && tasks <= slots;
  }

  /** Takes slots for this many tasks once there are any; false if there never will be. */
  boolean take(int tasks) throws InterruptedException {
    if (!fits(tasks)) {
      return false;
    }
    free.acquire(tasks);
    if (!closed) {
      return true;
    }
    free.release(tasks);
    return false;
  }

  void giveBack(int tasks) {
    free.release(tasks);
  }

  /** Returns once no job has any; none will. */
  public void close() {
    closed = true;
    free.acquireUninterruptibly(slots);
    free.release(slots);
  }
}
