package dev.joinery.kernel.spark;

import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.objects.Invoke;
import org.apache.spark.sql.classic.ExpressionUtils;
import org.apache.spark.sql.types.DataType;
import scala.jdk.javaapi.CollectionConverters;

/** Columns that call a method of an object inside Spark's own projection; remembers nothing. */
public final class Calls {
  private Calls() {}

  public static Expression literal(Object value) {
    return Literal.fromObject(value);
  }

  /** A method of {@code target} as a column, without a user-defined function. */
  public static Column call(Expression target, String method, DataType type, Column... inputs) {
    List<Expression> arguments =
        Arrays.stream(inputs).map(ExpressionUtils::expression).toList();
    boolean deterministic = inputs.length > 0;
    return ExpressionUtils.column(
        new Invoke(
            target,
            method,
            type,
            CollectionConverters.asScala(arguments).toSeq(),
            CollectionConverters.asScala(List.<org.apache.spark.sql.types.AbstractDataType>of())
                .toSeq(),
            true,
            true,
            deterministic));
  }
}
