package dev.joinery.kernel.spark;

import java.util.Collections;
import java.util.List;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoder;
import org.apache.spark.sql.ExperimentalMethods;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.UnaryNode;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.SparkStrategy;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * A place in a plan that passes rows on and keeps what is below it on the driver.
 *
 * <p>Spark sends an operator with state to its tasks together with all operators below it, down to
 * the source and the splits of its input, and each of their metrics comes back with each task. The
 * tasks of the third level would be sent three levels, of which they run one.
 */
public final class PlanCut extends LogicalPlan implements UnaryNode {
  private final LogicalPlan child;

  /** Public for Spark, which copies nodes by their constructor. */
  public PlanCut(LogicalPlan child) {
    this.child = child;
  }

  /**
   * Teaches the session of {@code rows}, which is a run's own, to plan cuts, and processors that
   * take {@linkplain WholeTask whole tasks}; in any other, {@link #under} leaves plans as they are.
   */
  public static <T> Dataset<T> teaching(Dataset<T> rows) {
    SparkSession session = ((org.apache.spark.sql.classic.Dataset<T>) rows).sparkSession();
    if (!isTaught(session)) {
      ExperimentalMethods methods = session.experimental();
      Seq<SparkStrategy> ours = seq(List.of(new Planning(), new SentRows.Planning()));
      methods.extraStrategies_$eq(methods.extraStrategies().appendedAll(ours).toSeq());
    }
    return rows;
  }

  /** Cuts what gives {@code rows} off from what will read them, where the session knows how. */
  public static <T> Dataset<T> under(Dataset<T> rows, Encoder<T> encoder) {
    org.apache.spark.sql.classic.Dataset<T> classic =
        (org.apache.spark.sql.classic.Dataset<T>) rows;
    SparkSession session = classic.sparkSession();
    LogicalPlan plan = classic.queryExecution().analyzed();
    return isTaught(session) && !(plan instanceof PlanCut)
        ? org.apache.spark.sql.classic.Dataset.ofRows(session, new PlanCut(plan)).as(encoder)
        : rows;
  }

  /** Whether a processor may be a {@link WholeTask}: in a stream of a session that knows how. */
  public static <T> boolean takesWholeTasks(Dataset<T> rows) {
    return rows.isStreaming()
        && isTaught(((org.apache.spark.sql.classic.Dataset<T>) rows).sparkSession());
  }

  private static boolean isTaught(SparkSession session) {
    return session.experimental().extraStrategies().exists(each -> each instanceof Planning);
  }

  @Override
  public LogicalPlan child() {
    return child;
  }

  @Override
  public Seq<LogicalPlan> children() {
    return seq(List.of(child));
  }

  @Override
  public Seq<Attribute> output() {
    return child.output();
  }

  @Override
  public LogicalPlan withNewChildInternal(LogicalPlan other) {
    return new PlanCut(other);
  }

  @Override
  public LogicalPlan withNewChildrenInternal(IndexedSeq<LogicalPlan> others) {
    return new PlanCut(others.head());
  }

  @Override
  public int productArity() {
    return 1;
  }

  @Override
  public Object productElement(int index) {
    return child;
  }

  @Override
  public boolean canEqual(Object other) {
    return other instanceof PlanCut;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof PlanCut cut && cut.child.equals(child);
  }

  @Override
  public int hashCode() {
    return super.hashCode();
  }

  private static <T> Seq<T> seq(List<T> elements) {
    return CollectionConverters.asScala(elements).toSeq();
  }

  /** Makes a cut of a plan one of its execution. */
  private static final class Planning extends SparkStrategy {
    @Override
    public Seq<SparkPlan> apply(LogicalPlan plan) {
      return plan instanceof PlanCut cut
          ? seq(List.<SparkPlan>of(new Exec(planLater(cut.child))))
          : seq(List.<SparkPlan>of());
    }
  }

  /** The cut in a plan of execution; a task knows its columns alone. */
  public static final class Exec extends OperatorOverOne {
    private final transient SparkPlan child;
    private final Seq<Attribute> output;

    /** Public for Spark, which copies nodes by their constructor. */
    public Exec(SparkPlan child) {
      this.child = child;
      this.output = child.output();
    }

    @Override
    public RDD<InternalRow> doExecute() {
      return child.execute();
    }

    @Override
    public SparkPlan child() {
      return child;
    }

    @Override
    public Seq<SparkPlan> children() {
      return seq(child == null ? List.of() : List.of(child));
    }

    @Override
    public Seq<Attribute> output() {
      return output;
    }

    @Override
    public Seq<SortOrder> outputOrdering() {
      return child.outputOrdering();
    }

    @Override
    protected List<SparkPlan> parts() {
      return Collections.singletonList(child); // which no task has
    }

    @Override
    protected SparkPlan over(SparkPlan other) {
      return new Exec(other);
    }
  }
}
