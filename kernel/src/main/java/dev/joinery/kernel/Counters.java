package dev.joinery.kernel;

import java.util.HashMap;
import java.util.Map;

/** Counts what was not simply applied: remembers counts by owner and name until they are sent. */
final class Counters {
  private record Name(boolean relation, String owner, String counter) {}

  private final Map<Name, Long> counts = new HashMap<>();

  void relation(String relation, String counter, long count) {
    counts.merge(new Name(true, relation, counter), count, Long::sum);
  }

  void product(String product, String counter, long count) {
    counts.merge(new Name(false, product, counter), count, Long::sum);
  }

  boolean isEmpty() {
    return counts.isEmpty();
  }

  /** Adds the counts to a tally and starts again from zero. */
  void drainTo(Tally tally) {
    counts.forEach(
        (name, count) ->
            tally.add(
                name.relation() ? "relations" : "counters", name.owner(), name.counter(), count));
    counts.clear();
  }

  /** Sends the counts out of the chain and starts again from zero. */
  void drainTo(Outbox outbox, long timestamp) {
    counts.forEach(
        (name, count) ->
            outbox.emit(
                Message.count(timestamp, name.relation(), name.owner(), name.counter(), count)));
    counts.clear();
  }
}
