package dev.joinery.kernel.search;

import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.BiConsumer;
import java.util.function.Function;
import java.util.function.Predicate;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;

/**
 * Stored queries by what their conditions need of a row, so that a row is tried on few of them:
 * first by the values of {@code on}, then by the values that expressions must have, then by the
 * bounds between which one must lie. One that needs this or that has a place for either. Those that
 * need nothing of the kind are tried on all rows.
 * What else they need of columns is held to the columns' codes, so that a condition that says no
 * more is not evaluated at all.
 *
 * <p>Invariant: what it leaves out cannot be true of the row.
 */
final class QueryIndex implements Language.Index {
  /** A condition with more values than this is found by something else. */
  private static final int MOST_PLACES = 64;

  /** Fewer are tried one by one. */
  private static final int FEW = 8;

  private final Map<Expression, Integer> numbers = new HashMap<>();
  private final List<Access.Reader> readers = new ArrayList<>();
  private final Map<Slice, Shelf> shelves = new HashMap<>();

  QueryIndex(Collection<StoredQuery> queries) {
    Map<Slice, Map<List<Integer>, Map<Slice, List<Indexed>>>> found = new HashMap<>();
    for (StoredQuery query : queries) {
      if (query.canMatch() && query.condition() instanceof SqlCondition condition) {
        List<Access> ways = Access.of(condition);
        for (Access access : ways) {
          Indexed indexed = new Indexed(query, access, ways.size() > 1);
          put(indexed, found.computeIfAbsent(query.on(), each -> new LinkedHashMap<>()));
        }
      }
    }
    found.forEach((on, patterns) -> shelves.put(on, shelf(patterns)));
  }

  /** Takes a query that may be true of a row; {@code holds} where it is. */
  private interface Found {
    void take(StoredQuery query, boolean holds);
  }

  @Override
  public void find(
      Slice on,
      InternalRow row,
      Predicate<StoredQuery> wanted,
      BiConsumer<StoredQuery, Condition.Verdict> found) {
    candidates(
        on,
        row,
        (query, holds) -> {
          if (wanted.test(query)) {
            found.accept(query, holds ? Condition.Verdict.HOLDS : query.condition().of(row));
          }
        });
  }

  /** {@code several} where the query has other places, too. */
  private record Indexed(StoredQuery query, Access access, boolean several) {}

  /** A query at its place, and what it needs of columns besides. */
  private record Placed(StoredQuery query, List<Need> needs, boolean whole, boolean several) {}

  /** What a column must be: one of these values, or, where these are null, within the range. */
  private record Need(int number, Set<Slice> values, Access.Range range) {
    boolean holds(Slice code) {
      return code != null && (values == null ? range.holds(code) : values.contains(code));
    }
  }

  /** Queries of one {@code on}: by which expressions have values, then by these. */
  private record Shelf(List<Pattern> patterns) {}

  private record Pattern(int[] expressions, Map<Slice, Leaf> leaves) {}

  /** Queries that need the same values: by the expression that is bounded, and the others. */
  private record Leaf(
      Map<Integer, NumberIntervals<Placed>> numbers,
      Map<Integer, Intervals<Placed>> ranges,
      List<Placed> others) {}

  private void put(Indexed indexed, Map<List<Integer>, Map<Slice, List<Indexed>>> patterns) {
    List<Expression> keys = new ArrayList<>(indexed.access().keys(MOST_PLACES));
    keys.sort((one, other) -> Integer.compare(numberOf(one), numberOf(other)));
    List<Integer> expressions = keys.stream().map(this::numberOf).toList();
    Map<Slice, List<Indexed>> places =
        patterns.computeIfAbsent(expressions, each -> new HashMap<>());
    List<byte[]> codes = List.of(new byte[0]);
    for (Expression each : keys) {
      codes = combined(codes, indexed.access().equal().get(each));
    }
    for (byte[] code : codes) {
      places.computeIfAbsent(Slice.of(code), each -> new ArrayList<>()).add(indexed);
    }
  }

  private static List<byte[]> combined(List<byte[]> codes, Set<Slice> values) {
    List<byte[]> longer = new ArrayList<>();
    for (byte[] code : codes) {
      for (Slice value : values) {
        longer.add(new ByteWriter(32).writeRaw(Slice.of(code)).writeRaw(value).toBytes());
      }
    }
    return longer;
  }

  private int numberOf(Expression expression) {
    return numbers.computeIfAbsent(
        expression,
        each -> {
          readers.add(new Access.Reader(each));
          return readers.size() - 1;
        });
  }

  private Shelf shelf(Map<List<Integer>, Map<Slice, List<Indexed>>> patterns) {
    List<Pattern> made = new ArrayList<>();
    patterns.forEach(
        (expressions, places) -> {
          Map<Slice, Leaf> leaves = new HashMap<>();
          Set<Integer> known = Set.copyOf(expressions);
          places.forEach((code, queries) -> leaves.put(code, leaf(queries, known)));
          int[] numbered = expressions.stream().mapToInt(Integer::intValue).toArray();
          made.add(new Pattern(numbered, leaves));
        });
    return new Shelf(made);
  }

  private Leaf leaf(List<Indexed> queries, Set<Integer> known) {
    Map<Integer, List<NumberIntervals.Interval<Placed>>> numbers = new LinkedHashMap<>();
    Map<Integer, List<Intervals.Interval<Placed>>> bounded = new LinkedHashMap<>();
    List<Placed> others = new ArrayList<>();
    for (Indexed each : queries) {
      Map.Entry<Expression, Access.Range> narrowest = narrowest(each.access());
      int number = narrowest == null ? -1 : numberOf(narrowest.getKey());
      Access.Range range = narrowest == null ? null : narrowest.getValue();
      if (range != null && readers.get(number).isNumber() && range.hasEnds()) {
        numbers
            .computeIfAbsent(number, key -> new ArrayList<>())
            .add(
                new NumberIntervals.Interval<>(
                    range.least(), range.greatest(), placed(each, known, number)));
      } else if (range != null && queries.size() > FEW) {
        bounded
            .computeIfAbsent(number, key -> new ArrayList<>())
            .add(new Intervals.Interval<>(range.low(), range.high(), placed(each, known, -1)));
      } else {
        others.add(placed(each, known, -1));
      }
    }
    return new Leaf(
        mapped(numbers, NumberIntervals::new), mapped(bounded, Intervals::new), others);
  }

  private static <F, T> Map<Integer, T> mapped(Map<Integer, F> from, Function<F, T> each) {
    Map<Integer, T> made = new LinkedHashMap<>();
    from.forEach((number, value) -> made.put(number, each.apply(value)));
    return made;
  }

  /**
   * {@code known} are the expressions whose values the place decides, {@code bounded} the one of
   * which it is known that it lies within the bounds; below 0 for none.
   */
  private Placed placed(Indexed indexed, Set<Integer> known, int bounded) {
    List<Need> needs = new ArrayList<>();
    indexed.access().equal().forEach(
        (expression, values) -> {
          if (Access.isColumn(expression) && !known.contains(numberOf(expression))) {
            needs.add(new Need(numberOf(expression), values, null));
          }
        });
    indexed.access().ranges().forEach(
        (expression, range) -> {
          if (Access.isColumn(expression) && numberOf(expression) != bounded) {
            needs.add(new Need(numberOf(expression), null, range));
          }
        });
    return new Placed(
        indexed.query(), List.copyOf(needs), indexed.access().whole(), indexed.several());
  }

  /** A range with two ends where there is one. */
  private static Map.Entry<Expression, Access.Range> narrowest(Access access) {
    Map.Entry<Expression, Access.Range> found = null;
    for (Map.Entry<Expression, Access.Range> each : access.ranges().entrySet()) {
      if (found == null || (each.getValue().isClosed() && !found.getValue().isClosed())) {
        found = each;
      }
    }
    return found;
  }

  /** Gives the queries that may be true of a row, each once. */
  private void candidates(Slice on, InternalRow row, Found found) {
    Shelf shelf = shelves.get(on);
    if (shelf == null) {
      return;
    }
    Codes codes = new Codes(row);
    for (Pattern pattern : shelf.patterns()) {
      Slice code = codes.together(pattern.expressions());
      Leaf leaf = code == null ? null : pattern.leaves().get(code);
      if (leaf != null) {
        for (Placed each : leaf.others()) {
          codes.offer(each, found);
        }
        leaf.numbers().forEach((number, intervals) -> codes.within(number, intervals, found));
        leaf.ranges().forEach((number, intervals) -> codes.within(number, intervals, found));
      }
    }
  }

  /** What expressions give over one row, each worked out once. */
  private final class Codes {
    private final InternalRow row;
    private final Slice[] codes = new Slice[readers.size()];
    private final boolean[] known = new boolean[readers.size()];

    /** Those with several places that were given; null before the first. */
    private Set<StoredQuery> given;

    Codes(InternalRow row) {
      this.row = row;
    }

    Slice of(int number) {
      if (!known[number]) {
        known[number] = true;
        codes[number] = readers.get(number).codeOf(row);
      }
      return codes[number];
    }

    /** Null where one of them is null. */
    Slice together(int[] numbered) {
      if (numbered.length == 1) {
        return of(numbered[0]);
      }
      ByteWriter out = new ByteWriter(64);
      for (int each : numbered) {
        Slice code = of(each);
        if (code == null) {
          return null;
        }
        out.writeRaw(code);
      }
      return Slice.of(out.toBytes());
    }

    void within(int number, NumberIntervals<Placed> intervals, Found found) {
      Access.Reader column = readers.get(number);
      if (!column.isNull(row)) {
        intervals.holding(column.numberOf(row), each -> offer(each, found));
      }
    }

    void within(int number, Intervals<Placed> intervals, Found found) {
      Slice code = of(number);
      if (code != null) {
        intervals.holding(code, each -> offer(each, found));
      }
    }

    void offer(Placed placed, Found found) {
      for (Need each : placed.needs()) {
        if (!each.holds(of(each.number()))) {
          return;
        }
      }
      if (!placed.several() || isFirst(placed.query())) {
        found.take(placed.query(), placed.whole());
      }
    }

    private boolean isFirst(StoredQuery query) {
      if (given == null) {
        given = Collections.newSetFromMap(new IdentityHashMap<>());
      }
      return given.add(query);
    }
  }
}
