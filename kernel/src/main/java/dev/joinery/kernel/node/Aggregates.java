package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.BinaryRow;
import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.Child;
import dev.joinery.kernel.program.CompiledAggregate;
import dev.joinery.kernel.state.EntryMap;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataType;

/**
 * Values kept over the children of one join value: remembers a state for each, sends nothing.
 *
 * <p>Results do not depend on the order in which rows came and went: sums are exact.
 */
public final class Aggregates {
  private final List<CompiledAggregate> plans;
  private final Aggregate[] states;
  private UnsafeProjection projection;
  private Aggregates other;
  private int failures;
  private int overflows;

  Aggregates(List<CompiledAggregate> plans) {
    this.plans = plans;
    this.states = new Aggregate[plans.size()];
    clear();
  }

  boolean isEmpty() {
    return plans.isEmpty();
  }

  public int failures() {
    return failures;
  }

  /** How many of the last results do not fit their types, and are null. */
  public int overflows() {
    return overflows;
  }

  public void clear() {
    for (int i = 0; i < states.length; i++) {
      states[i] = Aggregate.of(plans.get(i).function(), plans.get(i).type());
    }
    failures = 0;
  }

  void read(ByteReader in) {
    for (Aggregate state : states) {
      state.read(in);
    }
  }

  void write(ByteWriter out) {
    for (Aggregate state : states) {
      state.write(out);
    }
  }

  /** Adds what other rows added, or took back, as their aggregates wrote it. */
  void merge(ByteReader in) {
    if (other == null) {
      other = new Aggregates(plans);
    }
    other.read(in);
    merge(other);
  }

  void merge(Aggregates those) {
    for (int i = 0; i < states.length; i++) {
      states[i].merge(those.states[i]);
    }
  }

  /** The same aggregates before any row. */
  Aggregates fresh() {
    return new Aggregates(plans);
  }

  public void add(UnsafeRow row) {
    for (int i = 0; i < states.length; i++) {
      if (counts(plans.get(i), row)) {
        add(states[i], plans.get(i), row);
      }
    }
  }

  private void add(Aggregate state, CompiledAggregate plan, UnsafeRow row) {
    Object value = plan.argument() == null ? Boolean.TRUE : evaluate(plan.argument(), row);
    if (value != null) {
      state.add(value);
    }
  }

  /** Takes a row back; true where a least or greatest value left, and all must be added again. */
  public boolean remove(UnsafeRow row) {
    boolean again = false;
    for (int i = 0; i < states.length; i++) {
      CompiledAggregate plan = plans.get(i);
      if (counts(plan, row)) {
        Object value = plan.argument() == null ? Boolean.TRUE : evaluate(plan.argument(), row);
        again |= value != null && states[i].remove(value);
      }
    }
    return again;
  }

  private boolean counts(CompiledAggregate plan, UnsafeRow row) {
    return plan.filter() == null || Boolean.TRUE.equals(evaluate(plan.filter(), row));
  }

  private Object evaluate(Expression expression, UnsafeRow row) {
    try {
      return expression.eval(row);
    } catch (RuntimeException failure) {
      failures++;
      return null;
    }
  }

  void addAll(Iterator<EntryMap.Entry> children, int columns) {
    clear();
    if (plans.isEmpty()) {
      return;
    }
    UnsafeRow row = new UnsafeRow(columns);
    while (children.hasNext()) {
      add(BinaryRow.point(row, Child.read(children.next().value()).row()));
    }
  }

  /** The results, as a binary row. */
  public Slice result() {
    if (projection == null) {
      projection =
          UnsafeProjection.create(plans.stream().map(CompiledAggregate::type).toArray(DataType[]::new));
    }
    GenericInternalRow row = new GenericInternalRow(states.length);
    overflows = 0;
    for (int i = 0; i < states.length; i++) {
      Object result = states[i].result();
      row.update(i, result);
      overflows += result == null && !states[i].isEmpty() ? 1 : 0;
    }
    return BinaryRow.copy(projection.apply(row));
  }
}
