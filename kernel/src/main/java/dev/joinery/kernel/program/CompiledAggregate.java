package dev.joinery.kernel.program;

import dev.joinery.kernel.bytes.KeyCodec;
import java.io.Serializable;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.types.DataType;

/**
 * A compiled aggregate over rows; {@code argument} null counts rows.
 *
 * @param byValue whether what rows leave is kept value by value
 * @param order the order of the rows, without columns where their log alone has one; null where none is
 *     asked for
 * @param numbers what follows the argument
 */
public record CompiledAggregate(
    String function,
    Expression argument,
    Expression filter,
    DataType type,
    boolean byValue,
    KeyCodec order,
    double[] numbers)
    implements Serializable {
  /** One whose result can take a row back, or has all rows added again. */
  public static CompiledAggregate of(
      String function, Expression argument, Expression filter, DataType type) {
    return new CompiledAggregate(function, argument, filter, type, false, null, new double[0]);
  }
}
