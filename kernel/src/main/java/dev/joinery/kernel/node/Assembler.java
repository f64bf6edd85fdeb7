package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.BinaryRow;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.program.CompiledAssembler;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.BasePredicate;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.JoinedRow;
import org.apache.spark.sql.catalyst.expressions.Predicate$;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Makes an object of an own row and its embeds: remembers nothing between rows.
 *
 * <p>The fast path evaluates everything at once. Where an expression fails at run time, the row is
 * evaluated again step by step; the failing expression is null and is counted.
 */
public final class Assembler {
  /** Of an object without embeds. */
  public static final Object[] NO_INPUTS = {};

  private final CompiledAssembler plan;
  private final boolean identity;
  private final UnsafeProjection fastOutput;
  private final BasePredicate fastWhere;
  private final UnsafeProjection fastOrder;
  private UnsafeProjection slowOutput;
  private UnsafeProjection slowOrder;
  private final JoinedRow joined = new JoinedRow();

  /** The result of the last call of {@link #assemble}: valid until the next. */
  private boolean exists;

  private Slice row;
  private Slice order;
  private int failures;

  public Assembler(CompiledAssembler plan) {
    this.plan = plan;
    this.identity = plan.isIdentity();
    this.fastOutput = plan.inlined && !identity ? projection(plan.fastOutput) : null;
    this.fastWhere = plan.fastWhere == null ? null : Predicate$.MODULE$.create(plan.fastWhere);
    this.fastOrder = plan.inlined && !plan.order.isEmpty() ? projection(plan.fastOrder) : null;
  }

  private static UnsafeProjection projection(List<Expression> expressions) {
    return UnsafeProjection.create(CollectionConverters.asScala(expressions).toSeq());
  }

  /** Whether every row exists, and shows an input as it is. */
  boolean showsAlways(int input) {
    return plan.where == null
        && plan.output.stream()
            .anyMatch(each -> each instanceof BoundReference of && of.ordinal() == plan.own + input);
  }

  boolean exists() {
    return exists;
  }

  /** The object, as bytes of a binary row; they are the caller's to keep. */
  public Slice row() {
    return row;
  }

  Slice order() {
    return order;
  }

  public int failures() {
    return failures;
  }

  /** Assembles; true when the row passes its {@code where}. */
  public boolean assemble(Slice ownBytes, UnsafeRow own, Object[] inputs) {
    failures = 0;
    if (identity) {
      row = ownBytes;
      order = Slice.EMPTY;
      return exists = true;
    }
    if (plan.inlined) {
      try {
        return assembleFast(own, inputs);
      } catch (RuntimeException failure) {
        return assembleSlow(own, inputs);
      }
    }
    return assembleSlow(own, inputs);
  }

  private boolean assembleFast(UnsafeRow own, Object[] inputs) {
    InternalRow given =
        inputs.length == 0 ? own : joined.apply(own, new GenericInternalRow(inputs));
    exists = fastWhere == null || fastWhere.eval(given);
    // The output is evaluated for rows that do not exist, too: a failing field must be null in
    // `where` on both paths.
    row = BinaryRow.copy(fastOutput.apply(given));
    order = fastOrder == null ? Slice.EMPTY : Slice.of(plan.orderCodec.encode(fastOrder.apply(given)));
    return exists;
  }

  private boolean assembleSlow(UnsafeRow own, Object[] inputs) {
    GenericInternalRow slots = new GenericInternalRow(plan.given + plan.steps.size());
    for (int i = 0; i < plan.own; i++) {
      slots.update(i, own.isNullAt(i) ? null : own.get(i, plan.types.get(i)));
    }
    for (int i = 0; i < inputs.length; i++) {
      slots.update(plan.own + i, inputs[i]);
    }
    for (int i = 0; i < plan.steps.size(); i++) {
      slots.update(plan.given + i, evaluate(plan.steps.get(i), slots));
    }
    exists = plan.where == null || Boolean.TRUE.equals(evaluate(plan.where, slots));
    if (slowOutput == null) {
      slowOutput = projection(plan.output);
    }
    row = BinaryRow.copy(slowOutput.apply(slots));
    order = exists ? slowOrder(slots) : Slice.EMPTY;
    return exists;
  }

  private Slice slowOrder(GenericInternalRow slots) {
    if (plan.order.isEmpty()) {
      return Slice.EMPTY;
    }
    GenericInternalRow keys = new GenericInternalRow(plan.order.size());
    for (int i = 0; i < plan.order.size(); i++) {
      keys.update(i, evaluate(plan.order.get(i), slots));
    }
    return Slice.of(plan.orderCodec.encode(keys));
  }

  private Object evaluate(Expression expression, InternalRow slots) {
    try {
      return InternalRow.copyValue(expression.eval(slots));
    } catch (RuntimeException failure) {
      failures++;
      return null;
    }
  }
}
