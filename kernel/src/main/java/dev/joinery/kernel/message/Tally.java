package dev.joinery.kernel.message;

import org.apache.spark.util.AccumulatorV2;

/**
 * Counts what happens in tasks that run for minutes: remembers counts, which Spark brings to the
 * driver with each heartbeat, while the task adds to them.
 */
public final class Tally extends AccumulatorV2<Counters, Counters> {
  private final Counters counts = new Counters();

  /** The counts that a task adds to. */
  public Counters counters() {
    return counts;
  }

  @Override
  public void add(Counters more) {
    counts.addAll(more);
  }

  @Override
  public boolean isZero() {
    return counts.isEmpty();
  }

  @Override
  public Tally copy() {
    Tally copy = new Tally();
    copy.add(counts);
    return copy;
  }

  @Override
  public void reset() {
    counts.clear();
  }

  @Override
  public void merge(AccumulatorV2<Counters, Counters> other) {
    add(other.value());
  }

  @Override
  public Counters value() {
    Counters value = new Counters();
    value.addAll(counts);
    return value;
  }
}
