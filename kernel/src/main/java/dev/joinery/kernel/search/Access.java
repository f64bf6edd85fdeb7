package dev.joinery.kernel.search;

import dev.joinery.kernel.bytes.KeyCodec;
import dev.joinery.kernel.bytes.Slice;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
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
 * <p>All conjuncts have to be true, so a row that misses one is no candidate. Values and bounds are
 * codes, whose order is that of the values; a bound is taken to be in, which is wider than an open
 * one.
 *
 * @param equal by expression, the values of which it must have one
 * @param ranges by expression, between what it must lie
 */
record Access(Map<Expression, Set<Slice>> equal, Map<Expression, Range> ranges) {
  /** Null where there is no bound. */
  record Range(Slice low, Slice high) {
    Range and(Range other) {
      return new Range(highest(low, other.low), lowest(high, other.high));
    }

    private static Slice highest(Slice one, Slice other) {
      return one == null || (other != null && other.compareTo(one) > 0) ? other : one;
    }

    private static Slice lowest(Slice one, Slice other) {
      return one == null || (other != null && other.compareTo(one) < 0) ? other : one;
    }

    boolean isClosed() {
      return low != null && high != null;
    }
  }

  static Access of(Condition condition) {
    Access access = new Access(new LinkedHashMap<>(), new LinkedHashMap<>());
    access.addAll(condition.expression());
    return access;
  }

  private void addAll(Expression tree) {
    if (tree instanceof And and) {
      addAll(and.left());
      addAll(and.right());
      return;
    }
    Values values = valuesOf(tree);
    if (values != null) {
      equal.merge(values.of(), values.codes(), Access::common);
    } else {
      addRange(tree);
    }
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

  private void addRange(Expression tree) {
    if (tree instanceof LessThan each) {
      bound(each.left(), each.right());
    } else if (tree instanceof LessThanOrEqual each) {
      bound(each.left(), each.right());
    } else if (tree instanceof GreaterThan each) {
      bound(each.right(), each.left());
    } else if (tree instanceof GreaterThanOrEqual each) {
      bound(each.right(), each.left());
    }
  }

  private void bound(Expression lower, Expression upper) {
    if (upper instanceof Literal literal && isUseful(lower)) {
      put(lower, literal, true);
    } else if (lower instanceof Literal literal && isUseful(upper)) {
      put(upper, literal, false);
    }
  }

  private void put(Expression of, Literal bound, boolean above) {
    if (bound.value() == null || !bound.dataType().equals(of.dataType())) {
      return;
    }
    Slice code = codeOf(bound.value(), of.dataType());
    Range range = above ? new Range(null, code) : new Range(code, null);
    ranges.merge(of.canonicalized(), range, Range::and);
  }

  // Codes

  /** Whether an expression may be worked out once for all conditions that read it. */
  private static boolean isUseful(Expression expression) {
    return Condition.reads(expression)
        && Condition.isShared(expression)
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

    Reader(Expression expression) {
      DataType type = expression.dataType();
      this.expression = expression;
      this.codec = new KeyCodec(List.of(new KeyCodec.Column(0, type, type, false)));
    }

    /** Null where it is null or fails: then no condition that needs it can be true. */
    Slice codeOf(InternalRow row) {
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
