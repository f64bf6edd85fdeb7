package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.program.CompiledAggregate;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.Function;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.DataType;

/**
 * How each of some aggregates is kept: as a state of its own, or in a set that several may share;
 * shared by the {@link Aggregates} of all groups.
 */
final class AggregatePlans {
  private static final int MOST_SETS = 255;

  /** A set, and what puts a row into it: its code, under each filter that is true; null always is. */
  record Set(int number, RowCode code, List<Expression> filters, CompiledAggregate first) {}

  private interface Reading {
    Object of(Multisets sets);
  }

  private final List<CompiledAggregate> plans;
  private final List<Set> sets = new ArrayList<>();
  private final RowCode[] codes;
  private final Reading[] readings;

  AggregatePlans(List<CompiledAggregate> plans) {
    this.plans = plans;
    this.codes = new RowCode[plans.size()];
    this.readings = new Reading[plans.size()];
    for (int i = 0; i < codes.length; i++) {
      CompiledAggregate plan = plans.get(i);
      if (isByValue(plan)) {
        readings[i] = reading(plan);
      } else if (plan.order() != null) {
        codes[i] = new RowCode(plan);
      }
    }
  }

  private static boolean isByValue(CompiledAggregate plan) {
    return plan.byValue() || plan.function().equals("count_distinct");
  }

  boolean isEmpty() {
    return plans.isEmpty();
  }

  CompiledAggregate get(int aggregate) {
    return plans.get(aggregate);
  }

  List<DataType> types() {
    return plans.stream().map(CompiledAggregate::type).toList();
  }

  List<Set> sets() {
    return sets;
  }

  /** What a state is given of a row; null for the value itself. */
  RowCode code(int aggregate) {
    return codes[aggregate];
  }

  boolean needsPlace() {
    return plans.stream().anyMatch(each -> each.order() != null && !each.byValue());
  }

  Multisets.Shape[] shapes() {
    return sets.stream()
        .map(each -> new Multisets.Shape(each.filters().size(), each.first().byValue()))
        .toArray(Multisets.Shape[]::new);
  }

  /** The states before any row; null for what is read of sets. */
  Aggregate[] states() {
    Aggregate[] states = new Aggregate[plans.size()];
    renew(states);
    return states;
  }

  void renew(Aggregate[] states) {
    for (int i = 0; i < states.length; i++) {
      states[i] = readings[i] == null ? state(i) : null;
    }
  }

  /** The result of an aggregate that is read of sets. */
  Object result(int aggregate, Multisets settled) {
    return readings[aggregate].of(settled);
  }

  private Aggregate state(int aggregate) {
    CompiledAggregate plan = plans.get(aggregate);
    if (plan.order() == null) {
      return Aggregate.of(plan.function(), plan.type());
    }
    RowCode code = codes[aggregate];
    Function<List<Slice>, Object> one = rows -> rows.isEmpty() ? null : code.valueOf(rows.get(0));
    return switch (plan.function()) {
      case "first" -> new Ends(1, false, one);
      case "last" -> new Ends(1, true, one);
      case "collect" -> new Ends(
          (int) plan.numbers()[0], false, rows -> new GenericArrayData(code.valuesOf(rows)));
      default -> throw new IllegalArgumentException("no order for " + plan.function());
    };
  }

  private Reading reading(CompiledAggregate plan) {
    if (plan.function().equals("count_distinct")) {
      Set set = setOf(plan, true);
      int lane = laneOf(set, plan.filter());
      return sets -> sets.size(set.number(), lane);
    }
    Set set = setOf(plan, false);
    int number = set.number();
    RowCode code = set.code();
    return switch (plan.function()) {
      case "min", "first" -> sets -> valueOf(code, sets.lowest(number));
      case "max", "last" -> sets -> valueOf(code, sets.highest(number));
      case "collect" -> sets ->
          new GenericArrayData(code.valuesOf(lowest(sets, number, (int) plan.numbers()[0])));
      default -> throw new IllegalArgumentException("not kept by value: " + plan.function());
    };
  }

  private static Object valueOf(RowCode code, Slice kept) {
    return kept == null ? null : code.valueOf(kept);
  }

  private static List<Slice> lowest(Multisets sets, int set, int most) {
    List<Slice> codes = new ArrayList<>();
    sets.forEach(
        set,
        (code, count) -> {
          for (long i = 0; i < count && codes.size() < most; i++) {
            codes.add(code);
          }
          return codes.size() < most;
        });
    return codes;
  }

  /** The set of an aggregate: that of another of the same values, if only with the same filter. */
  private Set setOf(CompiledAggregate plan, boolean anyFilter) {
    for (Set each : sets) {
      CompiledAggregate known = each.first();
      if (known.function().equals("count_distinct") == anyFilter
          && known.argument().equals(plan.argument())
          && known.byValue() == plan.byValue()
          && (known.order() == null) == (plan.order() == null)
          && (anyFilter || Objects.equals(known.filter(), plan.filter()))) {
        return each;
      }
    }
    if (sets.size() == MOST_SETS) {
      throw new IllegalArgumentException("a group of more than " + MOST_SETS + " sets of values");
    }
    List<Expression> filters = new ArrayList<>();
    filters.add(plan.filter());
    Set made = new Set(sets.size(), new RowCode(plan), filters, plan);
    sets.add(made);
    return made;
  }

  private static int laneOf(Set set, Expression filter) {
    int known = set.filters().indexOf(filter);
    if (known < 0) {
      set.filters().add(filter);
    }
    return known < 0 ? set.filters().size() - 1 : known;
  }
}
