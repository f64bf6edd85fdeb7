package dev.joinery.kernel.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.encoders.ExpressionEncoder;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.plans.physical.UnknownPartitioning;
import org.apache.spark.sql.catalyst.types.DataTypeUtils;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.LocalTableScanExec;
import org.apache.spark.sql.execution.SortExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.exchange.ENSURE_REQUIREMENTS$;
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.TransformWithStateExec;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

final class SentRowsTest {
  private static final List<Attribute> WIRE =
      List.copyOf(
          CollectionConverters.asJava(
              DataTypeUtils.toAttributes(
                  new StructType()
                      .add("message", DataTypes.BinaryType)
                      .add("address", DataTypes.BinaryType))));
  private static final SparkPlan SCAN =
      new LocalTableScanExec(seq(WIRE), seq(List.<InternalRow>of()), Option.empty(), false);

  @BeforeEach
  void session() {
    SparkSession.setActiveSession(LocalSpark.SESSION);
  }

  @Test
  void rowsBelowAreHandedOverUnsorted() {
    TransformWithStateExec operator = operatorOver(SCAN);
    Seq<SortOrder> required = operator.requiredChildOrdering().head();
    SparkPlan sorted = operatorOver(new SortExec(required, false, SCAN, 0));

    SparkPlan planned =
        new SentRows(operator, seq(WIRE)).withNewChildren(seq(List.of(sorted)));

    SparkPlan rows = ((TransformWithStateExec) planned.children().head()).child();
    assertInstanceOf(TaskRows.Exec.class, rows);
    assertSame(SCAN, rows.children().head());
    // Else Spark would sort once more.
    assertTrue(SortOrder.orderingSatisfies(rows.outputOrdering(), required));
  }

  @Test
  void rowsThatComeInRealTimeAreHandedOverAsWell() {
    SparkPlan shuffled =
        new ShuffleExchangeExec(
            new UnknownPartitioning(1), SCAN, ENSURE_REQUIREMENTS$.MODULE$, Option.empty(), true);
    SparkPlan operator = operatorOver(shuffled, true);

    SparkPlan planned = new SentRows(operator, seq(WIRE));

    TransformWithStateExec handed = (TransformWithStateExec) planned.children().head();
    assertInstanceOf(TaskRows.Exec.class, handed.child());
    assertSame(shuffled, handed.child().children().head());
    assertFalse(handed.isRealTimeMode(), "else it is handed one row at a time");
  }

  @Test
  void columnsAreThoseOfTheMessages() {
    SentRows sent = new SentRows(operatorOver(SCAN), seq(WIRE));

    assertEquals(seq(WIRE), sent.output());
    assertEquals(sent, sent.withNewChildren(sent.children()));
  }

  private static TransformWithStateExec operatorOver(SparkPlan child) {
    return operatorOver(child, false);
  }

  private static TransformWithStateExec operatorOver(SparkPlan child, boolean inRealTime) {
    Attribute rows = TaskRows.column();
    return new TransformWithStateExec(
        WIRE.get(1),
        rows,
        seq(List.of(WIRE.get(1))),
        seq(List.of(rows)),
        null,
        TimeMode.None(),
        OutputMode.Update(),
        encoder(),
        rows,
        Option.empty(),
        Option.empty(),
        Option.empty(),
        Option.empty(),
        Option.empty(),
        child,
        true,
        inRealTime,
        false,
        seq(List.<Attribute>of()),
        seq(List.<Attribute>of()),
        rows,
        SCAN);
  }

  @SuppressWarnings("unchecked")
  private static ExpressionEncoder<Object> encoder() {
    return (ExpressionEncoder<Object>) (ExpressionEncoder<?>) new BytesEncoder();
  }

  private static <T> Seq<T> seq(List<T> elements) {
    return CollectionConverters.asScala(elements).toSeq();
  }
}
