package dev.joinery.kernel.node;

import java.util.Objects;
import java.util.Set;
import java.util.function.Supplier;

/**
 * The partitions of a relation's log that nobody waits for in a batch, as the driver tells the
 * batch's tasks. Remembers what it last read.
 */
final class IdlePartitions implements Supplier<Set<Long>> {
  private final NodeContext context;
  private final String relation;
  private String read;
  private Set<Long> idle = Set.of();

  IdlePartitions(int relation, NodeContext context) {
    this.context = context;
    this.relation = context.program().relations().get(relation).name();
  }

  @Override
  public Set<Long> get() {
    String told = context.watermarks();
    if (!Objects.equals(told, read)) {
      idle = BatchWatermarks.read(told).idle(relation);
      read = told;
    }
    return idle;
  }
}
