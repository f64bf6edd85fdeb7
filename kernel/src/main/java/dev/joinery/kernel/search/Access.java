package dev.joinery.kernel.search;

import dev.joinery.kernel.bytes.KeyCodec;
import dev.joinery.kernel.bytes.Slice;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.EqualNullSafe;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.GreaterThan;
import org.apache.spark.sql.catalyst.expressions.GreaterThanOrEqual;
import org.apache.spark.sql.catalyst.expressions.In;
import org.apache.spark.sql.catalyst.expressions.LessThan;
import org.apache.spark.sql.catalyst.expressions.LessThanOrEqual;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Not;
import org.apache.spark.sql.catalyst.expressions.Or;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.NullType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.VariantType;
import scala.jdk.javaapi.CollectionConverters;

/**
 * What a condition needs of a row whatever else it says: values that an expression must have, and
 * bounds between which one must lie. It remembers nothing of rows.
 *
 * <p>All conjuncts have to be true, so a row that misses one is not a candidate. Values and bounds
 * are codes, whose order is that of the values.
 *
 * @param equal by expression, the values of which it must have one
 * @param ranges by expression, between what it must lie
 * @param whole whether the condition says nothing else, and only of columns: then it is true where
 *     all of this holds
 */
record Access(Map<Expression, Set<Slice>> equal, Map<Expression, Range> ranges, boolean whole) {
  /** Null where there is no bound; one that is open is not in. */
  record Range(Slice low, boolean lowOpen, Slice high, boolean highOpen) {
    static Range below(Slice high, boolean open) {
      return new Range(null, false, high, open);
    }

    static Range above(Slice low, boolean open) {
      return new Range(low, open, null, false);
    }

    Range and(Range other) {
      int lows = NO_LOW_FIRST.compare(low, other.low);
      int highs = NO_HIGH_LAST.compare(high, other.high);
      return new Range(
          lows >= 0 ? low : other.low,
          lows == 0 ? lowOpen || other.lowOpen : lows > 0 ? lowOpen : other.lowOpen,
          highs <= 0 ? high : other.high,
          highs == 0 ? highOpen || other.highOpen : highs < 0 ? highOpen : other.highOpen);
    }

    /** Of numbers: whether it has a least and a greatest one; all but {@code > the greatest}. */
    boolean hasEnds() {
      return !(lowOpen && KeyCodec.numberOf(low) == Long.MAX_VALUE)
          && !(highOpen && KeyCodec.numberOf(high) == Long.MIN_VALUE);
    }

    long least() {
      return low == null ? Long.MIN_VALUE : KeyCodec.numberOf(low) + (lowOpen ? 1 : 0);
    }

    long greatest() {
      return high == null ? Long.MAX_VALUE : KeyCodec.numberOf(high) - (highOpen ? 1 : 0);
    }

    boolean isClosed() {
      return low != null && high != null;
    }

    boolean holds(Slice code) {
      if (low != null) {
        int above = code.compareTo(low);
        if (above < 0 || (above == 0 && lowOpen)) {
          return false;
        }
      }
      int below = high == null ? -1 : code.compareTo(high);
      return below < 0 || (below == 0 && !highOpen);
    }
  }

  private static final Comparator<Slice> NO_LOW_FIRST =
      Comparator.nullsFirst(Comparator.naturalOrder());
  private static final Comparator<Slice> NO_HIGH_LAST =
      Comparator.nullsLast(Comparator.naturalOrder());

  private static final int MOST_ALTERNATIVES = 16;

  /**
   * What a condition needs; of one that needs nothing by itself, each of what {@code or} joins. A
   * row meets one of these where the condition is true.
   */
  static List<Access> of(SqlCondition condition) {
    List<Expression> needed = new ArrayList<>();
    split(condition.expression(), And.class, needed);
    Access access = of(needed);
    if (!access.isEmpty()) {
      return List.of(access);
    }
    for (Expression each : needed) {
      List<Access> found = alternatives(each, needed);
      if (found != null) {
        return found;
      }
    }
    return List.of(access);
  }

  private static Access of(List<Expression> needed) {
    Access access = new Access(new LinkedHashMap<>(), new LinkedHashMap<>(), false);
    boolean whole = true;
    for (Expression each : needed) {
      whole &= access.addAll(each);
    }
    return new Access(access.equal, access.ranges, whole);
  }

  /** Null where one of them needs nothing either. */
  private static List<Access> alternatives(Expression one, List<Expression> needed) {
    List<Expression> joined = new ArrayList<>();
    split(one, Or.class, joined);
    if (joined.size() < 2 || joined.size() > MOST_ALTERNATIVES) {
      return null;
    }
    List<Expression> others = new ArrayList<>(needed);
    others.removeIf(each -> each == one);
    List<Access> found = new ArrayList<>();
    for (Expression each : joined) {
      List<Expression> all = new ArrayList<>(others);
      split(each, And.class, all);
      Access access = of(all);
      if (access.isEmpty()) {
        return null;
      }
      found.add(access);
    }
    // Where one may fail the order decides, so then all are evaluated.
    boolean whole = found.stream().allMatch(Access::whole);
    return found.stream().map(each -> new Access(each.equal, each.ranges, whole)).toList();
  }

  private static void split(Expression tree, Class<?> by, List<Expression> parts) {
    if (by.isInstance(tree)) {
      CollectionConverters.asJava(tree.children()).forEach(each -> split(each, by, parts));
    } else {
      parts.add(tree);
    }
  }

  private boolean isEmpty() {
    return equal.isEmpty() && ranges.isEmpty();
  }

  /** Returns whether what is added says all that the tree says, and only of columns. */
  private boolean addAll(Expression tree) {
    Values values = valuesOf(tree);
    if (values == null) {
      return addRange(tree);
    }
    equal.merge(values.of(), values.codes(), Access::common);
    return isColumn(values.of());
  }

  static boolean isColumn(Expression expression) {
    return expression instanceof BoundReference;
  }

  private static Set<Slice> common(Set<Slice> one, Set<Slice> other) {
    Set<Slice> both = new LinkedHashSet<>(one);
    both.retainAll(other);
    return both;
  }

  // Values

  private record Values(Expression of, Set<Slice> codes) {}

  private static Values valuesOf(Expression tree) {
    if (tree instanceof EqualTo equality) {
      return values(equality.left(), equality.right());
    }
    if (tree instanceof EqualNullSafe equality) {
      return values(equality.left(), equality.right());
    }
    if (tree instanceof In in) {
      return values(in.value(), CollectionConverters.asJava(in.list()));
    }
    if (tree instanceof Or or) {
      return either(valuesOf(or.left()), valuesOf(or.right()));
    }
    if (tree instanceof BoundReference column && column.dataType() instanceof BooleanType) {
      return values(column, List.of(Literal.TrueLiteral()));
    }
    if (tree instanceof Not not && not.child() instanceof BoundReference column) {
      return values(column, List.of(Literal.FalseLiteral()));
    }
    return null;
  }

  private static Values values(Expression left, Expression right) {
    return right instanceof Literal ? values(left, List.of(right)) : values(right, List.of(left));
  }

  private static Values values(Expression of, List<Expression> list) {
    if (!isUseful(of)) {
      return null;
    }
    Set<Slice> codes = new LinkedHashSet<>();
    for (Expression each : list) {
      if (!(each instanceof Literal literal) || !literal.dataType().equals(of.dataType())) {
        return null;
      }
      if (literal.value() == null && list.size() == 1) {
        return null; // a <=> null
      }
      if (literal.value() != null) {
        codes.add(codeOf(literal.value(), of.dataType()));
      }
    }
    return new Values(of.canonicalized(), codes);
  }

  private static Values either(Values one, Values other) {
    if (one == null || other == null || !one.of().equals(other.of())) {
      return null;
    }
    Set<Slice> both = new LinkedHashSet<>(one.codes());
    both.addAll(other.codes());
    return new Values(one.of(), both);
  }

  // Ranges

  private boolean addRange(Expression tree) {
    if (tree instanceof LessThan each) {
      return bound(each.left(), each.right(), true);
    } else if (tree instanceof LessThanOrEqual each) {
      return bound(each.left(), each.right(), false);
    } else if (tree instanceof GreaterThan each) {
      return bound(each.right(), each.left(), true);
    } else if (tree instanceof GreaterThanOrEqual each) {
      return bound(each.right(), each.left(), false);
    }
    return false;
  }

  private boolean bound(Expression lower, Expression upper, boolean open) {
    if (upper instanceof Literal literal && isUseful(lower)) {
      return put(lower, literal, code -> Range.below(code, open));
    }
    return lower instanceof Literal literal
        && isUseful(upper)
        && put(upper, literal, code -> Range.above(code, open));
  }

  private boolean put(Expression of, Literal bound, Function<Slice, Range> range) {
    if (bound.value() == null || !bound.dataType().equals(of.dataType())) {
      return false;
    }
    Slice code = codeOf(bound.value(), of.dataType());
    ranges.merge(of.canonicalized(), range.apply(code), Range::and);
    return isColumn(of);
  }

  // Codes

  /** Whether an expression may be worked out once for all conditions that read it. */
  private static boolean isUseful(Expression expression) {
    return SqlCondition.reads(expression)
        && SqlCondition.isShared(expression)
        && isSimple(expression.dataType());
  }

  private static boolean isSimple(DataType type) {
    return !(type instanceof ArrayType
        || type instanceof MapType
        || type instanceof StructType
        || type instanceof NullType
        || type instanceof VariantType);
  }

  static Slice codeOf(Object value, DataType type) {
    KeyCodec codec = new KeyCodec(List.of(new KeyCodec.Column(0, type, type, false)));
    return Slice.of(codec.encode(new GenericInternalRow(new Object[] {value})));
  }

  /** An expression over rows, and the code of what it gives. */
  static final class Reader {
    private final Expression expression;
    private final KeyCodec codec;

    /** Where it stands in the row; below 0 where it is more than a column. */
    private final int column;

    Reader(Expression expression) {
      DataType type = expression.dataType();
      this.expression = expression;
      this.column = expression instanceof BoundReference reference ? reference.ordinal() : -1;
      this.codec =
          new KeyCodec(List.of(new KeyCodec.Column(Math.max(column, 0), type, type, false)));
    }

    /** Whether it is a column of numbers, so that {@link #numberOf} says as much as a code. */
    boolean isNumber() {
      return column >= 0 && codec.isNumber();
    }

    boolean isNull(InternalRow row) {
      return row.isNullAt(column);
    }

    long numberOf(InternalRow row) {
      return codec.number(row);
    }

    /** Null where it is null or fails: then no condition that needs it can be true. */
    Slice codeOf(InternalRow row) {
      if (column >= 0) {
        return row.isNullAt(column) ? null : Slice.of(codec.encode(row));
      }
      try {
        Object value = expression.eval(row);
        return value == null
            ? null
            : Slice.of(codec.encode(new GenericInternalRow(new Object[] {value})));
      } catch (RuntimeException failure) {
        return null;
      }
    }
  }

  /** The expressions with so few values that each is worth a place, fewest first. */
  List<Expression> keys(int most) {
    List<Expression> found = new ArrayList<>();
    long places = 1;
    List<Map.Entry<Expression, Set<Slice>>> few = new ArrayList<>(equal.entrySet());
    few.sort((one, other) -> Integer.compare(one.getValue().size(), other.getValue().size()));
    for (Map.Entry<Expression, Set<Slice>> each : few) {
      if (places * each.getValue().size() <= most) {
        places *= each.getValue().size();
        found.add(each.getKey());
      }
    }
    return found;
  }
}
