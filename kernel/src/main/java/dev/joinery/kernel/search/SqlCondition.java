package dev.joinery.kernel.search;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.LambdaFunction;

/**
 * A stored condition in SQL: an expression over a row, evaluated as it stands.
 *
 * <p>It is used by several tasks at once. Lambdas keep the element they are at, so a condition with
 * one is evaluated by one task at a time.
 */
public final class SqlCondition implements Condition {
  private final Expression expression;
  private final boolean shared;

  SqlCondition(Expression expression) {
    this.expression = expression;
    this.shared = isShared(expression);
  }

  Expression expression() {
    return expression;
  }

  @Override
  public Verdict of(InternalRow row) {
    try {
      return Boolean.TRUE.equals(valueOf(row)) ? Verdict.HOLDS : Verdict.DOES_NOT;
    } catch (RuntimeException | StackOverflowError | OutOfMemoryError failure) {
      return Verdict.FAILS; // a text that found no room took none
    }
  }

  private Object valueOf(InternalRow row) {
    if (shared) {
      return expression.eval(row);
    }
    synchronized (this) {
      return expression.eval(row);
    }
  }

  /** Whether several tasks may evaluate an expression at once. */
  static boolean isShared(Expression expression) {
    return !expression.exists(each -> each instanceof LambdaFunction);
  }

  /** Whether an expression reads the row. */
  static boolean reads(Expression expression) {
    return expression.exists(each -> each instanceof BoundReference);
  }
}
