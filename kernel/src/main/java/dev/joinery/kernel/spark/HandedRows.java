package dev.joinery.kernel.spark;

import java.io.File;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.apache.spark.InterruptibleIterator;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;

/**
 * Rows that the tasks of one stage hand one another: each leaves some for each, and once all have
 * left theirs, each takes what it was left.
 *
 * <p>A task that waits looks every now and then whether it is to end: when another task has failed,
 * Spark ends the whole stage.
 */
final class HandedRows {
  private static final long LOOK_MS = 50;
  private static final long PATIENCE_MS = 10_000;

  private final RowBuffer[][] buffers;
  private final long mostBytes;
  private final BooleanSupplier broken;
  private final CountDownLatch leaving;
  private final AtomicInteger begunOfShared = new AtomicInteger();
  private final Set<Integer> begun = ConcurrentHashMap.newKeySet();

  /**
   * @param tasks as many as there are
   * @param mostBytes that a task may hold in memory of what it leaves
   * @param files gives a new file
   * @param broken whether one of the tasks has failed
   */
  HandedRows(
      int tasks, int columns, long mostBytes, Supplier<File> files, BooleanSupplier broken) {
    this.buffers = new RowBuffer[tasks][tasks];
    this.mostBytes = mostBytes;
    this.broken = broken;
    this.leaving = new CountDownLatch(tasks);
    for (RowBuffer[] ofOne : buffers) {
      for (int i = 0; i < tasks; i++) {
        ofOne[i] = new RowBuffer(columns, files);
      }
    }
  }

  /** What one task leaves. */
  final class Leaving {
    private final RowBuffer[] ours;
    private long bytes;

    private Leaving(int task) {
      ours = buffers[task];
    }

    void add(UnsafeRow row, int task) {
      RowBuffer buffer = ours[task];
      long before = buffer.bytes();
      buffer.add(row);
      bytes += buffer.bytes() - before;
      if (bytes > mostBytes) {
        moveToFiles();
      }
    }

    private void moveToFiles() {
      long moved = 0;
      for (RowBuffer each : ours) {
        moved += each.moveToFile();
      }
      TaskContext task = TaskContext.get();
      if (task != null) {
        task.taskMetrics().incMemoryBytesSpilled(bytes);
        task.taskMetrics().incDiskBytesSpilled(moved);
      }
      bytes = 0;
    }

    /** After the last row. */
    void end() {
      leaving.countDown();
    }
  }

  /** Once for each: what a task that failed had left may have been taken. */
  Leaving from(int task) {
    if (!begun.add(task)) {
      throw new IllegalStateException("task " + task + " has left rows already");
    }
    return new Leaving(task);
  }

  /** The next that no task has begun with; null once there is none. */
  <T> T next(List<T> shared) {
    int taken = begunOfShared.getAndIncrement();
    return taken < shared.size() ? shared.get(taken) : null;
  }

  /**
   * Waits until all have left what they had, then gives what a task was left, until it is killed, as
   * what a shuffle gives.
   */
  Iterator<InternalRow> to(int task, TaskContext context) {
    try {
      await(context);
    } catch (InterruptedException stopped) {
      Thread.currentThread().interrupt();
      context.killTaskIfInterrupted();
      throw new IllegalStateException("interrupted while waiting for rows", stopped);
    }
    return new InterruptibleIterator<>(context, new Taking(task));
  }

  private void await(TaskContext context) throws InterruptedException {
    long patience = PATIENCE_MS;
    while (!leaving.await(LOOK_MS, TimeUnit.MILLISECONDS)) {
      context.killTaskIfInterrupted();
      if (broken.getAsBoolean() && (patience -= LOOK_MS) < 0) {
        throw new IllegalStateException("another task of the stage has failed");
      }
    }
  }

  private final class Taking extends AbstractIterator<InternalRow> {
    private final int task;
    private int next;
    private Iterator<InternalRow> rows = Iterator.empty();

    Taking(int task) {
      this.task = task;
    }

    @Override
    public boolean hasNext() {
      while (!rows.hasNext() && next < buffers.length) {
        rows = buffers[next++][task].rows();
      }
      return rows.hasNext();
    }

    @Override
    public InternalRow next() {
      if (!hasNext()) {
        throw new NoSuchElementException();
      }
      return rows.next();
    }
  }
}
