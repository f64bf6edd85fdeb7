package dev.joinery.kernel.door;

import dev.joinery.kernel.message.Outbox;
import dev.joinery.kernel.node.Deadlines;
import dev.joinery.kernel.program.Program;
import dev.joinery.kernel.spark.BatchTime;
import dev.joinery.kernel.spark.BytesEncoder;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.function.MapPartitionsFunction;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import scala.Option;
import scala.Tuple2;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Tells, in the batch with which every log ends, all that wait for a deadline that they have. It has
 * a row of its own, so that it is called in a batch that reads nothing, too.
 */
record EndedLogs(Program program)
    implements MapPartitionsFunction<Row, Tuple2<byte[], byte[]>> {
  /** Under which a batch's thread tells its tasks whether the logs end with it. */
  static final String ENDING = "joinery.ending";

  /** What is to go down the chain beside what was read, in {@code session}. */
  Dataset<Tuple2<byte[], byte[]>> wire(SparkSession session) {
    return oneRow((org.apache.spark.sql.classic.SparkSession) session)
        .select(BatchTime.micros())
        .mapPartitions(this, BytesEncoder.WIRE);
  }

  /** A row that each batch of a stream has, of no source: nothing of it is in a checkpoint. */
  private static Dataset<Row> oneRow(org.apache.spark.sql.classic.SparkSession session) {
    scala.collection.immutable.Seq<Attribute> columns =
        CollectionConverters.asScala(List.<Attribute>of()).toSeq();
    scala.collection.immutable.Seq<InternalRow> rows =
        CollectionConverters.asScala(List.of(InternalRow.empty())).toSeq();
    LocalRelation relation = new LocalRelation(columns, rows, true, Option.empty());
    return org.apache.spark.sql.classic.Dataset$.MODULE$.ofRows(session, relation);
  }

  @Override
  public Iterator<Tuple2<byte[], byte[]>> call(Iterator<Row> rows) {
    Outbox outbox = new Outbox();
    boolean now = "true".equals(TaskContext.get().getLocalProperty(ENDING));
    rows.forEachRemaining(
        row -> {
          if (now) {
            Deadlines.all(program).forEach(each -> each.end(row.getLong(0), outbox));
          }
        });
    return outbox;
  }
}
