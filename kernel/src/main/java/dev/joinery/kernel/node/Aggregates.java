package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.BinaryRow;
import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.Child;
import dev.joinery.kernel.program.CompiledAggregate;
import dev.joinery.kernel.state.EntryMap;
import dev.joinery.kernel.state.Pages;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataType;

/**
 * Values kept over the children of one join value, or the rows of one group: remembers a state for
 * each, and what must be known value by value; sends nothing.
 *
 * <p>Results do not depend on the order in which rows came and went: sums are exact. What was never
 * opened with pages is what some rows change by, and may be merged in any order into what was.
 */
public final class Aggregates {
  private final AggregatePlans plans;
  private final Aggregate[] states;
  private final Multisets sets;
  private UnsafeProjection projection;
  private Aggregate[] others;
  private int failures;
  private int overflows;
  private long exceeded;

  Aggregates(List<CompiledAggregate> plans) {
    this(new AggregatePlans(plans));
  }

  private Aggregates(AggregatePlans plans) {
    this.plans = plans;
    this.states = plans.states();
    this.sets = plans.sets().isEmpty() ? null : new Multisets(plans.shapes());
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

  /**
   * How many different values are more than one of the last results keeps, which is null then; 0
   * where each keeps its own.
   */
  public long exceeded() {
    return exceeded;
  }

  public void clear() {
    plans.renew(states);
    if (sets != null) {
      sets.clear();
    }
    failures = 0;
  }

  /** Begins again; what is known value by value is kept in order from here on, in memory. */
  public void begin() {
    clear();
    if (sets != null) {
      sets.openInMemory();
    }
  }

  /** Reads what {@link #write} left where there are no pages. */
  void read(ByteReader in) {
    failures = 0;
    readStates(states, in);
    if (sets != null) {
      sets.clear();
      sets.merge(in);
    }
  }

  /** Opens what {@link #write} left, whose pages are {@code pages}; null where there is nothing. */
  void open(ByteReader in, Pages pages) {
    clear();
    if (in != null) {
      readStates(states, in);
    }
    if (sets != null) {
      sets.open(in, pages);
    }
  }

  private static void readStates(Aggregate[] states, ByteReader in) {
    for (Aggregate state : states) {
      if (state != null) {
        state.read(in);
      }
    }
  }

  void write(ByteWriter out) {
    for (Aggregate state : states) {
      if (state != null) {
        state.write(out);
      }
    }
    if (sets != null) {
      sets.write(out);
    }
  }

  /**
   * Leaves of values of which only the least and the greatest are read no others, in what was never
   * opened with pages.
   *
   * @return false where one of these may have been taken back: then only all rows tell
   */
  boolean keepEnds() {
    return sets == null || sets.keepEnds();
  }

  /** Has all pages removed. */
  void drop() {
    if (sets != null) {
      sets.drop();
    }
  }

  /** Adds what other rows added, or took back, as their aggregates wrote it without pages. */
  void merge(ByteReader in) {
    if (others == null) {
      others = plans.states();
    }
    readStates(others, in);
    mergeStates(others);
    if (sets != null) {
      sets.merge(in);
    }
  }

  void merge(Aggregates those) {
    mergeStates(those.states);
    if (sets != null) {
      sets.merge(those.sets);
    }
  }

  private void mergeStates(Aggregate[] those) {
    for (int i = 0; i < states.length; i++) {
      if (states[i] != null) {
        states[i].merge(those[i]);
      }
    }
  }

  /** The same aggregates before any row, and without pages. */
  Aggregates fresh() {
    return new Aggregates(plans);
  }

  /** Whether the place of a row in its log tells anything. */
  boolean needsPlace() {
    return plans.needsPlace();
  }

  public void add(UnsafeRow row) {
    add(row, Slice.EMPTY);
  }

  /** Adds a row; {@code place} is where it stands in its log, as sortable bytes, if that tells. */
  public void add(UnsafeRow row, Slice place) {
    for (int i = 0; i < states.length; i++) {
      if (states[i] != null && counts(plans.get(i).filter(), row)) {
        Object value = valueOf(i, row, place);
        if (value != null) {
          states[i].add(value);
        }
      }
    }
    change(row, place, 1);
  }

  /** Takes a row back; true where a least or greatest value left, and all must be added again. */
  public boolean remove(UnsafeRow row) {
    return remove(row, Slice.EMPTY);
  }

  /** The same; {@code place} as for {@link #add}. */
  public boolean remove(UnsafeRow row, Slice place) {
    boolean again = false;
    for (int i = 0; i < states.length; i++) {
      if (states[i] != null && counts(plans.get(i).filter(), row)) {
        Object value = valueOf(i, row, place);
        again |= value != null && states[i].remove(value);
      }
    }
    change(row, place, -1);
    return again;
  }

  private Object valueOf(int aggregate, UnsafeRow row, Slice place) {
    RowCode code = plans.code(aggregate);
    if (code != null) {
      InternalRow given = code.given(row);
      return code.isNull(given) ? null : code.of(row, given, place);
    }
    Expression argument = plans.get(aggregate).argument();
    return argument == null ? Boolean.TRUE : evaluate(argument, row);
  }

  private void change(UnsafeRow row, Slice place, int by) {
    for (AggregatePlans.ValueSet set : plans.sets()) {
      InternalRow given = given(set.code(), row);
      if (given == null) {
        continue;
      }
      long[] counts = null;
      List<Expression> filters = set.filters();
      for (int lane = 0; lane < filters.size(); lane++) {
        if (counts(filters.get(lane), row)) {
          counts = counts == null ? sets.at(set.code().of(set.number(), row, given, place)) : counts;
          counts[lane] += by;
        }
      }
    }
  }

  /** Null where a row has no value. */
  private InternalRow given(RowCode code, UnsafeRow row) {
    try {
      InternalRow given = code.given(row);
      return code.isNull(given) ? null : given;
    } catch (RuntimeException failure) {
      failures++;
      return null;
    }
  }

  private boolean counts(Expression filter, UnsafeRow row) {
    return filter == null || Boolean.TRUE.equals(evaluate(filter, row));
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
      projection = UnsafeProjection.create(plans.types().toArray(DataType[]::new));
    }
    GenericInternalRow row = new GenericInternalRow(states.length);
    Multisets settled = sets == null ? null : sets.settled();
    overflows = 0;
    exceeded = 0;
    for (int i = 0; i < states.length; i++) {
      if (states[i] == null) {
        row.update(i, plans.result(i, settled));
        exceeded = Math.max(exceeded, plans.exceeded(i, settled));
      } else {
        Object result = states[i].result();
        row.update(i, result);
        overflows += result == null && !states[i].isEmpty() ? 1 : 0;
      }
    }
    return BinaryRow.copy(projection.apply(row));
  }
}
