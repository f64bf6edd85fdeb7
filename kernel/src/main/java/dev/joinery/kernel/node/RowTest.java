package dev.joinery.kernel.node;

import dev.joinery.kernel.program.CompiledAssembler;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntPredicate;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.BasePredicate;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.JoinedRow;
import org.apache.spark.sql.catalyst.expressions.Predicate$;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import scala.jdk.javaapi.CollectionConverters;

/**
 * What of a test that depends on a match depends on its row and the one before alone: those of the
 * conditions joined by {@code and} that read no more.
 *
 * <p>Where it fails, the whole test may do otherwise, since a condition before it may be false; so
 * that counts as true. The reference's twin is {@code semantics/row_condition.py}.
 */
final class RowTest {
  private final Expression part;
  private final JoinedRow joined = new JoinedRow();
  private BasePredicate test;

  private RowTest(Expression part) {
    this.part = part;
  }

  /**
   * That of a whole test; null where there is nothing of it.
   *
   * @param follows whether an input of the test depends on what the match has taken
   */
  static RowTest of(CompiledAssembler whole, IntPredicate follows) {
    List<Expression> parts = new ArrayList<>();
    split(whole.where, parts);
    return parts.stream()
        .filter(each -> !reads(each, slot -> slot >= whole.own && follows.test(slot - whole.own)))
        .reduce(And::new)
        .map(RowTest::new)
        .orElse(null);
  }

  private static void split(Expression test, List<Expression> parts) {
    if (test instanceof And both) {
      split(both.left(), parts);
      split(both.right(), parts);
    } else {
      parts.add(test);
    }
  }

  private static boolean reads(Expression tree, IntPredicate slots) {
    if (tree instanceof BoundReference slot) {
      return slots.test(slot.ordinal());
    }
    return CollectionConverters.asJava(tree.children()).stream()
        .anyMatch(each -> reads(each, slots));
  }

  /** Whether it is true of a row, or fails; {@code inputs} are those of the whole test. */
  boolean mayBeTrue(UnsafeRow row, Object[] inputs) {
    if (test == null) {
      test = Predicate$.MODULE$.create(part); // Compiles it, for the few keys that need it.
    }
    try {
      return test.eval(joined.apply(row, new GenericInternalRow(inputs)));
    } catch (RuntimeException failure) {
      return true;
    }
  }
}
