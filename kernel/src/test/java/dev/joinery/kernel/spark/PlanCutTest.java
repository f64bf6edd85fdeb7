package dev.joinery.kernel.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.util.Collections;
import java.util.List;
import org.apache.spark.SparkConf;
import org.apache.spark.serializer.JavaSerializer;
import org.apache.spark.serializer.SerializerInstance;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.types.DataTypeUtils;
import org.apache.spark.sql.execution.LocalTableScanExec;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Test;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.reflect.ClassTag$;

final class PlanCutTest {
  private static final Seq<Attribute> COLUMNS =
      seq(
          List.copyOf(
              CollectionConverters.asJava(
                  DataTypeUtils.toAttributes(
                      new StructType().add("message", DataTypes.BinaryType)))));

  @Test
  void aTaskIsSentTheColumnsOfWhatIsBelowAndNothingElse() {
    PlanCut.Exec small = new PlanCut.Exec(scanOf(1));
    PlanCut.Exec large = new PlanCut.Exec(scanOf(10_000));

    PlanCut.Exec received = sent(large);

    assertEquals(COLUMNS, received.output());
    assertNull(received.child());
    assertTrue(received.children().isEmpty());
    assertEquals(written(small).remaining(), written(large).remaining());
  }

  @Test
  void aPlanIsCopiedWithItsCuts() {
    LogicalPlan cut = new PlanCut(relation());
    LogicalPlan other = relation().newInstance();

    LogicalPlan copied = cut.withNewChildren(seq(List.of(other)));

    assertSame(other, copied.children().head());
    assertEquals(COLUMNS.size(), copied.output().size());
    assertEquals(new PlanCut(other), copied);
    assertNotEquals(cut, copied);
  }

  private static LocalTableScanExec scanOf(int rows) {
    List<InternalRow> same = Collections.nCopies(rows, InternalRow.empty());
    return new LocalTableScanExec(COLUMNS, seq(same), Option.empty(), false);
  }

  private static LocalRelation relation() {
    return new LocalRelation(COLUMNS, seq(List.of()), false, Option.empty());
  }

  private static PlanCut.Exec sent(PlanCut.Exec cut) {
    return serializer().deserialize(written(cut), ClassTag$.MODULE$.apply(PlanCut.Exec.class));
  }

  private static ByteBuffer written(PlanCut.Exec cut) {
    return serializer().serialize(cut, ClassTag$.MODULE$.apply(PlanCut.Exec.class));
  }

  private static SerializerInstance serializer() {
    return new JavaSerializer(new SparkConf(false)).newInstance();
  }

  private static <T> Seq<T> seq(List<T> elements) {
    return CollectionConverters.asScala(elements).toSeq();
  }
}
