package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.program.CompiledAggregate;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.PriorityQueue;
import java.util.Set;
import java.util.function.Function;
import java.util.function.Supplier;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.DataType;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * How each of some aggregates is kept: as a state of its own, or in a set that several may share;
 * shared by the {@link Aggregates} of all groups.
 */
final class AggregatePlans {
  private static final int MOST_SETS = 255;
  private static final Set<String> ENDS = Set.of("min", "max", "first", "last");

  /** A set, and what puts a row into it: its code, under each filter that is true; null always is. */
  record ValueSet(int number, RowCode code, List<Expression> filters, CompiledAggregate first) {}

  private interface Reading {
    Object of(Multisets sets);

    /** How many different values are more than are kept; 0 where there are no more. */
    default long exceeded(Multisets sets) {
      return 0;
    }

    /** The same, but null where a set has more values than {@code most} under a filter. */
    default Reading upTo(long most, int set, int lane) {
      Reading all = this;
      return new Reading() {
        @Override
        public Object of(Multisets sets) {
          return exceeded(sets) > 0 ? null : all.of(sets);
        }

        @Override
        public long exceeded(Multisets sets) {
          return sets.size(set, lane) > most ? most : 0;
        }
      };
    }
  }

  private final List<CompiledAggregate> plans;
  private final List<ValueSet> sets = new ArrayList<>();
  /** The numbers of the sets of which more is read than the ends. */
  private final BitSet readWhole = new BitSet();
  private final RowCode[] codes;
  private final Reading[] readings;
  /** What makes a state of each; null for what is read of sets. */
  private final List<Supplier<Aggregate>> makers = new ArrayList<>();

  AggregatePlans(List<CompiledAggregate> plans) {
    this.plans = plans;
    this.codes = new RowCode[plans.size()];
    this.readings = new Reading[plans.size()];
    for (int i = 0; i < codes.length; i++) {
      CompiledAggregate plan = plans.get(i);
      if (isByValue(plan)) {
        readings[i] = reading(plan);
        makers.add(null);
      } else {
        codes[i] = plan.order() == null ? null : new RowCode(plan);
        makers.add(maker(plan, codes[i]));
      }
    }
  }

  private static boolean isByValue(CompiledAggregate plan) {
    return isCounted(plan) || plan.function().equals("count_distinct");
  }

  /** Whether it is kept how often each value is there, and not only that it is. */
  private static boolean isCounted(CompiledAggregate plan) {
    return plan.byValue() || plan.function().equals("approx_top_k");
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

  List<ValueSet> sets() {
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
        .map(
            each ->
                new Multisets.Shape(
                    each.filters().size(), isCounted(each.first()), !readWhole.get(each.number())))
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
      states[i] = makers.get(i) == null ? null : makers.get(i).get();
    }
  }

  /** The result of an aggregate that is read of sets. */
  Object result(int aggregate, Multisets settled) {
    return readings[aggregate].of(settled);
  }

  /** How many different values are more than it keeps; 0 where it keeps all. */
  long exceeded(int aggregate, Multisets settled) {
    return readings[aggregate].exceeded(settled);
  }

  private Supplier<Aggregate> maker(CompiledAggregate plan, RowCode code) {
    double[] numbers = plan.numbers();
    return switch (plan.function()) {
      case "approx_count_distinct" -> () ->
          new Sketch.OfDistinct((int) numbers[0], Distinct::count);
      case "distinct_sketch" -> () ->
          new Sketch.OfDistinct((int) numbers[0], AggregatePlans::bytesOf);
      case "merge_distinct" -> () -> new Sketch.OfDistinct(AggregatePlans::countOf);
      case "approx_quantile" -> () ->
          new Sketch.OfQuantiles((long) numbers[0], sketch -> sketch.at(numbers[1]));
      case "quantile_sketch" -> () ->
          new Sketch.OfQuantiles((long) numbers[0], AggregatePlans::bytesOf);
      case "merge_quantile" -> () ->
          new Sketch.OfQuantiles(sketch -> sketch == null ? null : sketch.at(numbers[0]));
      case "bloom" -> () -> new Sketch.OfBloom((long) numbers[0], (int) numbers[1]);
      default -> code == null
          ? Aggregate.of(plan.function(), plan.type())
          : () -> ends(plan, code);
    };
  }

  private static Object bytesOf(Distinct sketch) {
    return sketch.isEmpty() ? null : sketch.toBytes();
  }

  private static Object countOf(Distinct sketch) {
    return sketch == null ? 0L : sketch.count();
  }

  private static Object bytesOf(Quantiles sketch) {
    return sketch.isEmpty() ? null : sketch.toBytes();
  }

  private static Aggregate ends(CompiledAggregate plan, RowCode code) {
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
      ValueSet set = setOf(plan, true);
      readWhole.set(set.number());
      int lane = laneOf(set, plan.filter());
      Reading size = sets -> sets.size(set.number(), lane);
      return plan.numbers().length == 0
          ? size
          : size.upTo((long) plan.numbers()[0], set.number(), lane);
    }
    ValueSet set = setOf(plan, false);
    if (!ENDS.contains(plan.function())) {
      readWhole.set(set.number());
    }
    int number = set.number();
    RowCode code = set.code();
    return switch (plan.function()) {
      case "min", "first" -> sets -> valueOf(code, sets.lowest(number));
      case "max", "last" -> sets -> valueOf(code, sets.highest(number));
      case "collect" -> sets ->
          new GenericArrayData(code.valuesOf(lowest(sets, number, (int) plan.numbers()[0])));
      case "approx_top_k" -> limited(plan, number, sets -> top(plan, sets, number, code));
      case "distinct_sketch" -> limited(plan, number, sets -> sketched(plan, sets, number, code));
      case "merge_distinct", "merge_quantile" -> sets -> merged(plan, sets, number, code);
      default -> throw new IllegalArgumentException("not kept by value: " + plan.function());
    };
  }

  private static Reading limited(CompiledAggregate plan, int set, Reading reading) {
    return reading.upTo((long) plan.numbers()[1], set, 0);
  }

  /** A value, by its code, and how often it is there. */
  private record Frequent(Slice code, long count) {}

  /** The most frequent values, of equal counts the lower ones first. */
  private static Object top(CompiledAggregate plan, Multisets sets, int set, RowCode code) {
    int most = (int) plan.numbers()[0];
    Comparator<Frequent> last =
        Comparator.comparingLong(Frequent::count)
            .thenComparing(Comparator.comparing(Frequent::code).reversed());
    PriorityQueue<Frequent> kept = new PriorityQueue<>(last);
    sets.forEach(
        set,
        (each, count) -> {
          kept.add(new Frequent(each, count));
          if (kept.size() > most) {
            kept.poll();
          }
          return true;
        });
    Object[] rows =
        kept.stream()
            .sorted(last.reversed())
            .map(each -> InternalRow.apply(seq(code.valueOf(each.code()), each.count())))
            .toArray();
    return new GenericArrayData(rows);
  }

  private static Seq<Object> seq(Object... values) {
    return CollectionConverters.asScala(Arrays.asList(values)).toSeq();
  }

  private static Object sketched(
      CompiledAggregate plan, Multisets sets, int set, RowCode code) {
    if (sets.size(set, 0) == 0) {
      return null;
    }
    Distinct sketch = new Distinct((int) plan.numbers()[0]);
    sets.forEach(
        set,
        (each, count) -> {
          sketch.add(ValueHash.of(code.valueOf(each)));
          return true;
        });
    return sketch.toBytes();
  }

  /** What the sketches of a set are together: those that may go are kept one by one. */
  private static Object merged(CompiledAggregate plan, Multisets sets, int set, RowCode code) {
    double[] numbers = plan.numbers();
    Aggregate all =
        plan.function().equals("merge_distinct")
            ? new Sketch.OfDistinct(AggregatePlans::countOf)
            : new Sketch.OfQuantiles(sketch -> sketch == null ? null : sketch.at(numbers[0]));
    sets.forEach(
        set,
        (each, count) -> {
          for (long i = 0; i < count; i++) {
            all.add(code.valueOf(each));
          }
          return true;
        });
    return all.result();
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
  private ValueSet setOf(CompiledAggregate plan, boolean anyFilter) {
    for (ValueSet each : sets) {
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
    ValueSet made = new ValueSet(sets.size(), new RowCode(plan), filters, plan);
    sets.add(made);
    return made;
  }

  private static int laneOf(ValueSet set, Expression filter) {
    int known = set.filters().indexOf(filter);
    if (known < 0) {
      set.filters().add(filter);
    }
    return known < 0 ? set.filters().size() - 1 : known;
  }
}
