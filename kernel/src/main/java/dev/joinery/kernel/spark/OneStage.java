package dev.joinery.kernel.spark;

import java.io.File;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkEnv;
import org.apache.spark.storage.DiskBlockManager;
import org.apache.spark.unsafe.Platform;

/**
 * A job that a thread is about to run, whose levels may run as one stage; remembers what its tasks
 * hand one another.
 *
 * <p>Whether they do is asked as the job is planned ({@link #takes}); rows that any other job reads
 * are shuffled, since nobody keeps slots for its tasks.
 */
final class OneStage implements AutoCloseable {
  /** Of the heap, what the rows of one level may take; those of two are there at a time. */
  private static final long HEAP_SHARE = 32;

  private static final AtomicLong NUMBERS = new AtomicLong();
  private static final Map<Long, OneStage> OPEN = new ConcurrentHashMap<>();
  private static final ThreadLocal<OneStage> HERE = new ThreadLocal<>();

  private final long number = NUMBERS.incrementAndGet();
  private final StageSlots slots;
  private final Map<Integer, HandedRows> handed = new ConcurrentHashMap<>();
  private final Queue<File> files = new ConcurrentLinkedQueue<>();
  private int tasks;
  private volatile boolean broken;

  private OneStage(StageSlots slots) {
    this.slots = slots;
  }

  /** For the job that this thread runs next, until it is closed. */
  static OneStage open(SparkContext context) {
    OneStage stage = new OneStage(StageSlots.of(context));
    HERE.set(stage);
    return stage;
  }

  /** The job that this thread is about to run; null where it is none of ours. */
  static OneStage here() {
    return HERE.get();
  }

  /** The one of which a task is. */
  static OneStage of(long number) {
    OneStage stage = OPEN.get(number);
    if (stage == null) {
      throw new IllegalStateException("rows are read by another job than they were planned for");
    }
    return stage;
  }

  long number() {
    return number;
  }

  /** Whether this many tasks hand their rows on in memory; waits until there are slots for them. */
  boolean takes(int wanted) {
    if (tasks == 0) {
      try {
        tasks = slots.take(wanted) ? wanted : -1;
      } catch (InterruptedException stopped) {
        Platform.throwException(stopped);
      }
      OPEN.put(number, this);
    }
    return tasks == wanted;
  }

  /** What the tasks hand one another at one of its exchanges. */
  HandedRows at(int exchange, int columns) {
    return handed.computeIfAbsent(
        exchange,
        each -> {
          long most = Runtime.getRuntime().maxMemory() / HEAP_SHARE / slots.count();
          return new HandedRows(tasks, columns, most, this::file, () -> broken);
        });
  }

  private File file() {
    DiskBlockManager disk = SparkEnv.get().blockManager().diskBlockManager();
    File file = disk.createTempLocalBlock()._2();
    files.add(file);
    return file;
  }

  /** A task has failed. */
  void breakOff() {
    broken = true;
  }

  /** After the job, however it ended. */
  @Override
  public void close() {
    HERE.remove();
    OPEN.remove(number);
    files.forEach(File::delete);
    if (tasks > 0) {
      slots.giveBack(tasks);
    }
  }
}
