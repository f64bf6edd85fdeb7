package dev.joinery.kernel.message;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.util.AccumulatorV2;

/**
 * Counts what happens in tasks that run for minutes: remembers counts by kind, owner and name,
 * which Spark brings to the driver with each heartbeat.
 *
 * <p>Added to by a task while its heartbeat reads.
 */
public final class Tally extends AccumulatorV2<Count, Map<List<String>, Long>> {
  private final ConcurrentHashMap<List<String>, Long> counts = new ConcurrentHashMap<>();

  public void add(String kind, String owner, String counter, long count) {
    counts.merge(List.of(kind, owner, counter), count, Long::sum);
  }

  @Override
  public void add(Count count) {
    add(count.kind(), count.owner(), count.counter(), count.count());
  }

  @Override
  public boolean isZero() {
    return counts.isEmpty();
  }

  @Override
  public Tally copy() {
    Tally copy = new Tally();
    copy.counts.putAll(counts);
    return copy;
  }

  @Override
  public void reset() {
    counts.clear();
  }

  @Override
  public void merge(AccumulatorV2<Count, Map<List<String>, Long>> other) {
    other.value().forEach((name, count) -> counts.merge(name, count, Long::sum));
  }

  @Override
  public Map<List<String>, Long> value() {
    Map<List<String>, Long> value = new HashMap<>();
    counts.forEach(value::put);
    return value;
  }
}
