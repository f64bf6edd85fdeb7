package dev.joinery.kernel.message;

import java.util.HashMap;
import java.util.Map;

/** Counts what was not simply applied: remembers counts by owner and name until they are sent. */
public final class Counters {
  private static final String EXPRESSION_ERRORS = "expression_errors";

  private record Name(boolean relation, String owner, String counter) {}

  private final Map<Name, Long> counts = new HashMap<>();

  public void relation(String relation, String counter, long count) {
    counts.merge(new Name(true, relation, counter), count, Long::sum);
  }

  public void product(String product, String counter, long count) {
    counts.merge(new Name(false, product, counter), count, Long::sum);
  }

  /**
   * Counts expressions over one row of a relation that begin to fail.
   *
   * @param before how many failed over the row as it was; 0 where there was none
   */
  public void relationFailures(String relation, int before, int after) {
    if (after > before) {
      relation(relation, EXPRESSION_ERRORS, after - before);
    }
  }

  /** The same over an object of a product: a document, or a row that is embedded. */
  public void productFailures(String product, int before, int after) {
    if (after > before) {
      product(product, EXPRESSION_ERRORS, after - before);
    }
  }

  /** Adds the counts to others and starts again from zero. */
  public void drainTo(Counters others) {
    counts.forEach((name, count) -> others.counts.merge(name, count, Long::sum));
    counts.clear();
  }

  public boolean isEmpty() {
    return counts.isEmpty();
  }

  /** Adds the counts to a tally and starts again from zero. */
  public void drainTo(Tally tally) {
    counts.forEach(
        (name, count) ->
            tally.add(
                name.relation() ? "relations" : "counters", name.owner(), name.counter(), count));
    counts.clear();
  }

  /** Sends the counts out of the chain and starts again from zero. */
  public void drainTo(Outbox outbox, long timestamp) {
    counts.forEach(
        (name, count) ->
            outbox.emit(
                Message.count(timestamp, name.relation(), name.owner(), name.counter(), count)));
    counts.clear();
  }
}
