package dev.joinery.kernel.spark;

import java.io.Serializable;
import java.util.List;
import java.util.NoSuchElementException;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.SerializeFromObject;
import org.apache.spark.sql.catalyst.plans.logical.TransformWithState;
import org.apache.spark.sql.execution.SortExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.SparkStrategy;
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.TransformWithStateExec;
import scala.Option;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.reflect.ClassTag$;
import scala.runtime.AbstractFunction1;

/**
 * The rows that a {@link WholeTask} sends, as it wrote them; stands over Spark's operator with
 * state, and sees to it that this one's rows are not sorted.
 *
 * <p>Spark's operator opens and commits the state, and has rows partitioned as ever, so the same
 * checkpoint goes on with or without all this.
 */
public final class SentRows extends OperatorOverOne {
  private final SparkPlan child;
  private final Seq<Attribute> output;

  /** Public for Spark, which copies nodes by their constructor. */
  public SentRows(SparkPlan child, Seq<Attribute> output) {
    this.child = unsorted(child);
    this.output = output;
  }

  /**
   * Spark puts a sort below its operator once it plans how rows are partitioned; in real time none,
   * and the operator would then be handed one row at a time.
   */
  private static SparkPlan unsorted(SparkPlan plan) {
    if (plan instanceof TransformWithStateExec operator) {
      if (operator.child() instanceof SortExec sorted) {
        return handing(operator, sorted.child());
      } else if (operator.child() instanceof ShuffleExchangeExec && operator.isRealTimeMode()) {
        return handing(operator, operator.child());
      }
    }
    return plan;
  }

  /** The same operator, which is handed all rows of a task at once. */
  private static SparkPlan handing(TransformWithStateExec operator, SparkPlan rows) {
    Attribute column = operator.dataAttributes().head();
    return new TransformWithStateExec(
        operator.keyDeserializer(),
        operator.valueDeserializer(),
        operator.groupingAttributes(),
        operator.dataAttributes(),
        operator.statefulProcessor(),
        operator.timeMode(),
        operator.outputMode(),
        operator.keyEncoder(),
        operator.outputObjAttr(),
        operator.stateInfo(),
        operator.batchTimestampMs(),
        operator.prevBatchTimestampMs(),
        operator.eventTimeWatermarkForLateEvents(),
        operator.eventTimeWatermarkForEviction(),
        new TaskRows.Exec(rows, column, operator.groupingAttributes().head()),
        operator.isStreaming(),
        false,
        operator.hasInitialState(),
        operator.initialStateGroupingAttrs(),
        operator.initialStateDataAttrs(),
        operator.initialStateDeserializer(),
        operator.initialState());
  }

  @Override
  public RDD<InternalRow> doExecute() {
    WholeTask processor =
        (WholeTask) (Object) ((TransformWithStateExec) child).statefulProcessor();
    return child
        .execute()
        .mapPartitionsInternal(
            new Unwrapping(processor), true, ClassTag$.MODULE$.apply(InternalRow.class));
  }

  @Override
  public SparkPlan child() {
    return child;
  }

  @Override
  public Seq<Attribute> output() {
    return output;
  }

  @Override
  protected List<?> parts() {
    return List.of(child, output);
  }

  @Override
  protected SparkPlan over(SparkPlan other) {
    return new SentRows(other, output);
  }

  /** Spark's operator gives each row as an object, in a row of its own. */
  private static final class Unwrapping
      extends AbstractFunction1<Iterator<InternalRow>, Iterator<InternalRow>>
      implements Serializable {
    private final WholeTask processor;

    Unwrapping(WholeTask processor) {
      this.processor = processor;
    }

    @Override
    public Iterator<InternalRow> apply(Iterator<InternalRow> objects) {
      return new AbstractIterator<>() {
        private Iterator<InternalRow> last;

        @Override
        public boolean hasNext() {
          if (last == null) {
            if (objects.hasNext()) {
              return true;
            }
            last = processor.afterTask();
          }
          return last.hasNext();
        }

        @Override
        public InternalRow next() {
          if (!hasNext()) {
            throw new NoSuchElementException();
          }
          return last == null ? (InternalRow) objects.next().get(0, null) : last.next();
        }
      };
    }
  }

  /** Plans processors that take whole tasks; all others are left to Spark. */
  static final class Planning extends SparkStrategy {
    @Override
    public Seq<SparkPlan> apply(LogicalPlan plan) {
      return plan instanceof SerializeFromObject rows
              && rows.child() instanceof TransformWithState operator
              && (Object) operator.statefulProcessor() instanceof WholeTask
              && operator.isStreaming()
          ? seq(List.<SparkPlan>of(new SentRows(planned(operator), columnsOf(rows))))
          : seq(List.<SparkPlan>of());
    }

    private SparkPlan planned(TransformWithState operator) {
      Attribute rows = TaskRows.column();
      return new TransformWithStateExec(
          operator.keyDeserializer(),
          rows,
          operator.groupingAttributes(),
          seq(List.of(rows)),
          operator.statefulProcessor(),
          operator.timeMode(),
          operator.outputMode(),
          operator.keyEncoder(),
          operator.outputObjAttr(),
          Option.empty(),
          Option.empty(),
          Option.empty(),
          Option.empty(),
          Option.empty(),
          planLater(operator.child()),
          true,
          false,
          operator.hasInitialState(),
          operator.initialStateGroupingAttrs(),
          operator.initialStateDataAttrs(),
          operator.initialStateDeserializer(),
          planLater(operator.initialState()));
    }

    private static Seq<Attribute> columnsOf(SerializeFromObject rows) {
      return seq(
          CollectionConverters.asJava(rows.serializer()).stream()
              .map(NamedExpression::toAttribute)
              .toList());
    }
  }
}
