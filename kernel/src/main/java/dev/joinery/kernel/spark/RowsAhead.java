package dev.joinery.kernel.spark;

import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.util.TaskCompletionListener;
import scala.collection.Iterator;

/**
 * The rows of a task that runs for minutes, read ahead by a thread of its own: so the task knows
 * which of them have come, where asking for the next one would wait for it.
 *
 * <p>Remembers copies of rows up to a number of bytes; while it holds that many, the thread waits,
 * and so does whoever sends them.
 */
public final class RowsAhead {
  private static final int MOST_BYTES = 16 << 20;
  private static final int BYTES_BESIDE = 64;
  private static final long LONGEST_WAIT_MS = 100;
  private static final Object END = new Object();

  private final TaskContext task;
  private final BlockingQueue<Object> read = new LinkedBlockingQueue<>();
  private final Semaphore room = new Semaphore(MOST_BYTES);
  private boolean ended;

  private record Failure(Throwable cause) {}

  private RowsAhead(TaskContext task) {
    this.task = task;
  }

  /** Begins to read rows of the task that calls; ends with it, however that ends. */
  public static RowsAhead of(Iterator<InternalRow> rows) {
    TaskContext task = TaskContext.get();
    RowsAhead ahead = new RowsAhead(task);
    Thread reader = new Thread(() -> ahead.readAll(rows), "rows ahead of task " + task.partitionId());
    reader.setDaemon(true);
    task.addTaskCompletionListener((TaskCompletionListener) each -> end(reader));
    reader.start();
    return ahead;
  }

  /** What the reader reads is freed once this returns. */
  private static void end(Thread reader) {
    reader.interrupt();
    try {
      reader.join();
    } catch (InterruptedException stopped) {
      Thread.currentThread().interrupt();
    }
  }

  private void readAll(Iterator<InternalRow> rows) {
    try {
      while (rows.hasNext()) {
        UnsafeRow row = (UnsafeRow) rows.next();
        room.acquire(costOf(row));
        read.add(row.copy());
      }
      read.add(END);
    } catch (InterruptedException stopped) {
      // The task is over, and asks for no more.
    } catch (Throwable cause) {
      read.add(new Failure(cause));
    }
  }

  private static int costOf(UnsafeRow row) {
    return Math.min(MOST_BYTES, row.getSizeInBytes() + BYTES_BESIDE);
  }

  /** The next row, for which it waits; null after the last. */
  public UnsafeRow take() {
    while (!ended) {
      UnsafeRow row = next(LONGEST_WAIT_MS);
      if (row != null) {
        return row;
      }
      task.killTaskIfInterrupted();
    }
    return null;
  }

  /** The next row if it has come; else null. */
  public UnsafeRow poll() {
    return ended ? null : next(0);
  }

  /** Whether the last row was given. */
  public boolean hasEnded() {
    return ended;
  }

  private UnsafeRow next(long waitMs) {
    Object next = polled(waitMs);
    if (next instanceof Failure failure) {
      Platform.throwException(failure.cause());
    }
    if (next instanceof UnsafeRow row) {
      room.release(costOf(row));
      return row;
    }
    ended = next == END;
    return null;
  }

  private Object polled(long waitMs) {
    try {
      return waitMs == 0 ? read.poll() : read.poll(waitMs, TimeUnit.MILLISECONDS);
    } catch (InterruptedException stopped) {
      Thread.currentThread().interrupt();
      task.killTaskIfInterrupted();
      throw new IllegalStateException("interrupted while waiting for a row", stopped);
    }
  }
}
