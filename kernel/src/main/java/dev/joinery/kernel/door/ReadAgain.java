package dev.joinery.kernel.door;

import dev.joinery.kernel.ingress.Ingress;
import dev.joinery.kernel.spark.BatchTime;
import dev.joinery.kernel.spark.BytesEncoder;
import java.util.Collections;
import java.util.Iterator;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.function.MapPartitionsFunction;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.classic.SparkSession;
import scala.Tuple2;

/**
 * Sends what a query has read before to nodes that were added, in the one batch of which its thread
 * says so; a task of another batch reads nothing.
 *
 * @param ingress decodes the records, of which it sends those that only the added nodes hear of
 */
record ReadAgain(Ingress ingress) implements MapPartitionsFunction<Row, Tuple2<byte[], byte[]>> {
  /** What is to go down the chain beside what was read, in {@code session}. */
  Dataset<Tuple2<byte[], byte[]>> wire(Reading reading, SparkSession session) {
    org.apache.spark.sql.classic.Dataset<Row> records =
        (org.apache.spark.sql.classic.Dataset<Row>)
            reading.raw().coalesce(session.sparkContext().defaultParallelism());
    // Of no source: nothing of it is in a checkpoint.
    Dataset<Row> stream =
        session.internalCreateDataFrame(
            records.queryExecution().toRdd(), records.schema(), true);
    return Reading.through(stream, this, BatchTime.micros());
  }

  @Override
  public Iterator<Tuple2<byte[], byte[]>> call(Iterator<Row> rows) {
    boolean now = "true".equals(TaskContext.get().getLocalProperty(ToldRows.TELLING));
    return now ? ingress.call(rows) : Collections.emptyIterator();
  }
}
