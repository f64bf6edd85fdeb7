package dev.joinery.kernel.chain;

import dev.joinery.kernel.message.Outbox;
import java.util.Iterator;
import java.util.NoSuchElementException;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.function.MapPartitionsFunction;
import org.apache.spark.broadcast.Broadcast;
import scala.Tuple2;

/** Passes what a level sends; in the end sends what its task counted, a message a counter. */
public final class TaskCounts
    implements MapPartitionsFunction<Tuple2<byte[], byte[]>, Tuple2<byte[], byte[]>> {
  private static final long NO_TIME = 0;
  private final Broadcast<SharedProgram> shared;

  public TaskCounts(Broadcast<SharedProgram> shared) {
    this.shared = shared;
  }

  /** What a task has counted, once its level is closed. */
  static Outbox of(TaskContext task, SharedProgram shared) {
    Outbox counts = new Outbox(task.partitionId());
    shared.collect(task.taskAttemptId()).drainTo(counts, NO_TIME);
    return counts;
  }

  @Override
  public Iterator<Tuple2<byte[], byte[]>> call(Iterator<Tuple2<byte[], byte[]>> rows) {
    TaskContext task = TaskContext.get();
    return new Iterator<>() {
      private Outbox counts;

      @Override
      public boolean hasNext() {
        if (counts == null && !rows.hasNext()) {
          counts = of(task, shared.value());
        }
        return counts == null || counts.hasNext();
      }

      @Override
      public Tuple2<byte[], byte[]> next() {
        if (!hasNext()) {
          throw new NoSuchElementException();
        }
        return counts == null ? rows.next() : counts.next();
      }
    };
  }
}
