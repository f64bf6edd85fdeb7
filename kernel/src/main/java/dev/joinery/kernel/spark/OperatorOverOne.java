package dev.joinery.kernel.spark;

import java.util.List;
import org.apache.spark.sql.catalyst.plans.physical.Partitioning;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.UnaryExecNode;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * An operator of ours over one other, as Spark's plans of execution want it. It needs a public
 * constructor that takes its {@link #parts}: Spark copies nodes by it.
 */
abstract class OperatorOverOne extends SparkPlan implements UnaryExecNode {
  /** What it consists of, its child first. */
  protected abstract List<?> parts();

  /** The same over another operator. */
  protected abstract SparkPlan over(SparkPlan other);

  static <T> Seq<T> seq(List<T> elements) {
    return CollectionConverters.asScala(elements).toSeq();
  }

  @Override
  public Seq<SparkPlan> children() {
    return seq(List.of(child()));
  }

  @Override
  public Partitioning outputPartitioning() {
    return child().outputPartitioning();
  }

  @Override
  public SparkPlan withNewChildInternal(SparkPlan other) {
    return over(other);
  }

  @Override
  public SparkPlan withNewChildrenInternal(IndexedSeq<SparkPlan> others) {
    return over(others.head());
  }

  @Override
  public int productArity() {
    return parts().size();
  }

  @Override
  public Object productElement(int index) {
    return parts().get(index);
  }

  @Override
  public boolean canEqual(Object other) {
    return other != null && other.getClass() == getClass();
  }

  @Override
  public boolean equals(Object other) {
    return canEqual(other) && ((OperatorOverOne) other).parts().equals(parts());
  }

  @Override
  public int hashCode() {
    return super.hashCode();
  }
}
