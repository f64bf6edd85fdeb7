package dev.joinery.kernel.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.joinery.kernel.bytes.BinaryRow;
import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.program.CompiledAggregate;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;

class AggregatesTest {
  private static final DecimalType MONEY = DataTypes.createDecimalType(12, 2);

  /** One aggregate over rows of one column, which may also be its filter. */
  private static final class Kept {
    private final DataType type;
    private final DataType result;
    private final CompiledAggregate plan;
    private final UnsafeProjection rows;
    private final Aggregates aggregates;

    Kept(String function, DataType type, DataType result) {
      this(
          CompiledAggregate.of(function, new BoundReference(0, type, true), null, result), type);
    }

    Kept(CompiledAggregate plan, DataType type) {
      this.plan = plan;
      this.type = type;
      this.result = plan.type();
      this.rows = UnsafeProjection.create(new DataType[] {type});
      this.aggregates = new Aggregates(List.of(plan));
    }

    private UnsafeRow row(Object value) {
      return rows.apply(new GenericInternalRow(new Object[] {value}));
    }

    Kept add(Object... values) {
      for (Object value : values) {
        aggregates.add(row(value));
      }
      return this;
    }

    boolean remove(Object value) {
      return aggregates.remove(row(value));
    }

    Object result() {
      UnsafeRow row = BinaryRow.of(aggregates.result(), 1);
      return row.isNullAt(0) ? null : row.get(0, result);
    }

    /** The same, after its state was written and read. */
    Kept reopened() {
      ByteWriter out = new ByteWriter();
      aggregates.write(out);
      Kept again = new Kept(plan, type);
      again.aggregates.read(new ByteReader(out.toBytes()));
      return again;
    }
  }

  private static Kept of(String function, DataType type) {
    return new Kept(function, type, type);
  }

  private static Decimal money(String value) {
    return Decimal.apply(new BigDecimal(value), 12, 2);
  }

  @Test
  void withoutRowsCountIsZeroAndTheOthersAreNull() {
    assertEquals(0L, of("count", DataTypes.LongType).result());
    assertNull(of("sum", DataTypes.LongType).result());
    assertNull(of("avg", DataTypes.DoubleType).result());
    assertNull(of("min", DataTypes.StringType).result());
    assertNull(of("max", DataTypes.StringType).result());
  }

  @Test
  void nullsAreSkipped() {
    assertEquals(1L, of("count", DataTypes.LongType).add(null, 5L, null).result());
    assertEquals(5L, of("sum", DataTypes.LongType).add(null, 5L, null).result());
    assertEquals(5L, of("min", DataTypes.LongType).add(null, 5L, null).result());
    assertEquals(5.0, new Kept("avg", DataTypes.LongType, DataTypes.DoubleType)
        .add(null, 5L, null).result());
  }

  @Test
  void withoutArgumentNullRowsCountToo() {
    CompiledAggregate plan = CompiledAggregate.of("count", null, null, DataTypes.LongType);

    assertEquals(2L, new Kept(plan, DataTypes.LongType).add(null, 1L).result());
  }

  @Test
  void onlyRowsThatPassTheFilterCount() {
    Expression flag = new BoundReference(0, DataTypes.BooleanType, true);
    CompiledAggregate plan = CompiledAggregate.of("count", null, flag, DataTypes.LongType);
    Kept kept = new Kept(plan, DataTypes.BooleanType).add(true, false, null, true);

    kept.remove(false);
    kept.remove(true);

    assertEquals(1L, kept.result());
  }

  @Test
  void whatWasAddedAndTakenBackLeavesNoTrace() {
    Kept kept = of("sum", DataTypes.DoubleType).add(0.1, 1e300, 0.2);

    kept.remove(1e300);
    kept.remove(0.1);

    assertEquals(0.2, kept.result());
    kept.remove(0.2);
    assertNull(kept.result());
  }

  @Test
  void aSumOfRealNumbersDoesNotDependOnTheirOrder() {
    Object big = 1e16;
    Kept one = of("sum", DataTypes.DoubleType).add(big, 1.0, -1e16);
    Kept other = of("sum", DataTypes.DoubleType).add(big, -1e16, 1.0);

    assertEquals(1.0, one.result());
    assertEquals(1.0, other.result());
  }

  @Test
  void infinitiesAndNanAreTakenBackToo() {
    Kept kept = of("sum", DataTypes.DoubleType).add(1.5, Double.POSITIVE_INFINITY);
    assertEquals(Double.POSITIVE_INFINITY, kept.result());

    kept.add(Double.NEGATIVE_INFINITY);
    assertEquals(Double.NaN, kept.result());

    kept.remove(Double.POSITIVE_INFINITY);
    assertEquals(Double.NEGATIVE_INFINITY, kept.reopened().result());

    kept.remove(Double.NEGATIVE_INFINITY);
    assertEquals(1.5, kept.result());
  }

  @Test
  void aSumThatDoesNotFitIsNullAndComesBackWhenItFits() {
    Kept whole = of("sum", DataTypes.LongType).add(Long.MAX_VALUE, 1L);
    assertNull(whole.result());
    whole.remove(1L);
    assertEquals(Long.MAX_VALUE, whole.reopened().result());

    Kept money = of("sum", MONEY).add(money("9999999999.99"), money("0.01"));
    assertNull(money.reopened().result());
    money.remove(money("0.01"));
    assertEquals(money("9999999999.99"), money.result());
  }

  @Test
  void anAverageOfDecimalsIsRoundedHalfUpAtItsScale() {
    Kept kept = of("avg", MONEY).add(money("0.01"), money("0.02"));

    assertEquals(money("0.02"), kept.result());
  }

  @Test
  void theAverageOfLongsIsExactBeyondTheirRange() {
    Kept kept =
        new Kept("avg", DataTypes.LongType, DataTypes.DoubleType)
            .add(Long.MAX_VALUE, Long.MAX_VALUE);

    assertEquals((double) Long.MAX_VALUE, kept.result());
  }

  @Test
  void removingTheExtremeAsksForAllRowsAndRemovingAnotherDoesNot() {
    Kept kept = of("max", DataTypes.LongType).add(3L, 9L, 5L);

    assertFalse(kept.remove(5L));
    assertTrue(kept.remove(9L));
  }

  @Test
  void addingNeverAsksForAllRows() {
    Kept kept = of("min", DataTypes.StringType);

    kept.add(UTF8String.fromString("b"), UTF8String.fromString("a"));

    assertEquals(UTF8String.fromString("a"), kept.reopened().result());
  }

  @Test
  void randomRowsThatComeAndGoLeaveWhatARecomputationGives() {
    for (int seed = 0; seed < 30; seed++) {
      for (String function : List.of("count", "sum", "min", "max")) {
        check(function, seed);
      }
    }
  }

  private static void check(String function, int seed) {
    Random random = new Random(seed);
    Kept kept = of(function, DataTypes.LongType);
    List<Long> rows = new ArrayList<>();
    for (int step = 0; step < 300; step++) {
      if (!rows.isEmpty() && random.nextInt(5) < 2) {
        Long gone = rows.remove(random.nextInt(rows.size()));
        if (kept.remove(gone)) {
          kept.aggregates.clear();
          kept.add(rows.toArray());
        }
      } else {
        Long row = random.nextInt(6) == 0 ? null : (Long) (random.nextLong() >> 40);
        rows.add(row);
        kept.add(row);
      }
      if (random.nextInt(20) == 0) {
        kept = kept.reopened();
      }
      assertEquals(recomputed(function, rows), kept.result(), function + ", seed " + seed);
    }
  }

  private static Long recomputed(String function, List<Long> rows) {
    List<Long> values = rows.stream().filter(Objects::nonNull).toList();
    if (function.equals("count")) {
      return (long) values.size();
    }
    if (values.isEmpty()) {
      return null;
    }
    return switch (function) {
      case "sum" -> values.stream().mapToLong(Long::longValue).sum();
      case "min" -> Collections.min(values);
      default -> Collections.max(values);
    };
  }

  @Test
  void anUnknownFunctionIsRefused() {
    assertThrows(
        IllegalArgumentException.class, () -> Aggregate.of("median", DataTypes.LongType));
  }
}
