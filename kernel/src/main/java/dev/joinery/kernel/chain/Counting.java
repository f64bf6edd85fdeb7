package dev.joinery.kernel.chain;

import dev.joinery.kernel.message.Counters;
import dev.joinery.kernel.message.Outbox;
import java.io.Serializable;
import java.util.List;
import org.apache.spark.TaskContext;

/** When a level sends what it counted out of the chain. */
public sealed interface Counting extends Serializable {
  /** Called after each group of messages. */
  void afterGroup(Counters counters, Outbox outbox, long timestamp);

  /** Called once all of a task's messages were taken. */
  void afterTask(Nodes nodes, SharedProgram shared);

  /** At once: a task of real-time mode runs for minutes. */
  record EachGroup() implements Counting {
    @Override
    public void afterGroup(Counters counters, Outbox outbox, long timestamp) {
      if (outbox.isLazy()) {
        // Steps that run later count, too.
        Runnable drain = () -> counters.drainTo(outbox, timestamp);
        outbox.later(List.of(drain).iterator());
      } else if (!counters.isEmpty()) {
        counters.drainTo(outbox, timestamp);
      }
    }

    @Override
    public void afterTask(Nodes nodes, SharedProgram shared) {}
  }

  /** Summed up, by {@link TaskCounts}. */
  record EachTask() implements Counting {
    @Override
    public void afterGroup(Counters counters, Outbox outbox, long timestamp) {}

    @Override
    public void afterTask(Nodes nodes, SharedProgram shared) {
      nodes.tellCosts();
      shared.leave(TaskContext.get().taskAttemptId(), nodes.counters());
    }
  }
}
