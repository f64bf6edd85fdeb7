package dev.joinery.kernel.spark;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.SparkContext;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.function.Function2;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.LogicalRDD;
import org.apache.spark.sql.execution.QueryExecution;
import scala.collection.Iterator;
import scala.collection.immutable.Range$;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractFunction2;
import scala.runtime.BoxedUnit;

/**
 * Runs the rows of a batch as one job, with little of the driver's time.
 *
 * <p>What Spark hands over for a batch is a frame over rows that it has planned already, so they
 * are taken as they are; planned again, each row would be copied once more, too. In a session of
 * ours the levels are {@linkplain OneStage one stage}. The function is not cleaned either: Spark
 * would read its class from the jar to find out what else it holds.
 */
public final class BatchJob {
  private BatchJob() {}

  /** Returns what {@code work} makes of each partition, in their order. */
  public static <R> List<R> run(
      Dataset<Row> batch, Function2<TaskContext, java.util.Iterator<InternalRow>, R> work) {
    SparkContext context =
        ((org.apache.spark.sql.classic.Dataset<Row>) batch).sparkSession().sparkContext();
    try (OneStage stage = OneStage.open(context)) {
      return run(context, rows(batch), work);
    }
  }

  private static <R> List<R> run(
      SparkContext context,
      RDD<InternalRow> rows,
      Function2<TaskContext, java.util.Iterator<InternalRow>, R> work) {
    int partitions = rows.getNumPartitions();
    Object[] results = new Object[partitions];
    context
        .dagScheduler()
        .runJob(
            rows,
            new Partition<>(work),
            Range$.MODULE$.apply(0, partitions),
            context.getCallSite(),
            new Taking<R>(results),
            context.getLocalProperties());
    return results(results);
  }

  private static RDD<InternalRow> rows(Dataset<Row> batch) {
    QueryExecution execution =
        ((org.apache.spark.sql.classic.Dataset<Row>) batch).queryExecution();
    LogicalPlan plan = execution.withCachedData();
    return plan instanceof LogicalRDD planned ? planned.rdd() : execution.toRdd();
  }

  @SuppressWarnings("unchecked")
  private static <R> List<R> results(Object[] results) {
    return new ArrayList<>((List<R>) Arrays.asList(results));
  }

  private static final class Partition<R>
      extends AbstractFunction2<TaskContext, Iterator<InternalRow>, R> implements Serializable {
    private final Function2<TaskContext, java.util.Iterator<InternalRow>, R> work;

    Partition(Function2<TaskContext, java.util.Iterator<InternalRow>, R> work) {
      this.work = work;
    }

    @Override
    public R apply(TaskContext task, Iterator<InternalRow> rows) {
      try {
        return work.call(task, CollectionConverters.asJava(rows));
      } catch (RuntimeException error) {
        throw error;
      } catch (Exception error) {
        throw sneaky(error);
      }
    }

    @SuppressWarnings("unchecked")
    private static <E extends Throwable> RuntimeException sneaky(Throwable error) throws E {
      throw (E) error;
    }
  }

  private static final class Taking<R> extends AbstractFunction2<Object, R, BoxedUnit> {
    private final Object[] results;

    Taking(Object[] results) {
      this.results = results;
    }

    @Override
    public BoxedUnit apply(Object partition, R result) {
      results[(Integer) partition] = result;
      return BoxedUnit.UNIT;
    }
  }
}
