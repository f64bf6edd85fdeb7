package dev.joinery.kernel.door;

import dev.joinery.kernel.bytes.Address;
import dev.joinery.kernel.message.Message;
import dev.joinery.kernel.message.Outbox;
import dev.joinery.kernel.program.Program;
import dev.joinery.kernel.spark.BatchTime;
import dev.joinery.kernel.spark.BytesEncoder;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Set;
import java.util.TreeSet;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.function.MapPartitionsFunction;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.StructType;
import scala.Tuple2;

/**
 * Has Retracts tell their rows to nodes that were added, in the one batch of which its thread says
 * so. Whose rows there are is read from the state of the batch before; a task of another batch reads
 * nothing.
 *
 * @param operators those whose state it is
 * @param checkpoint of the query
 * @param batch the one before
 * @param nodes the Retracts
 * @param first the lowest number of the nodes that were added
 */
record ToldRows(
    Set<Integer> operators, String checkpoint, long batch, Set<Integer> nodes, int first)
    implements MapPartitionsFunction<Row, Tuple2<byte[], byte[]>> {
  /** Under which a batch's thread tells its tasks whether rows are told in it. */
  static final String TELLING = "joinery.telling";

  /** Of Retracts of a program; Spark numbers operators from the last on. */
  static ToldRows of(Program program, String checkpoint, long batch, List<Integer> nodes, int first) {
    Set<Integer> operators = new TreeSet<>();
    nodes.forEach(each -> operators.add(program.levels() - program.nodes().get(each).level()));
    return new ToldRows(operators, checkpoint, batch, Set.copyOf(nodes), first);
  }

  /** What is to go down the chain beside what was read, in {@code session}. */
  Dataset<Tuple2<byte[], byte[]>> wire(SparkSession session) {
    Dataset<Row> addresses =
        operators.stream()
            .map(each -> addressesOf(session, each))
            .reduce(Dataset::union)
            .orElseThrow();
    Dataset<Row> few = addresses.coalesce(session.sparkContext().defaultParallelism());
    org.apache.spark.sql.classic.Dataset<Row> classic =
        (org.apache.spark.sql.classic.Dataset<Row>) few;
    return session
        .internalCreateDataFrame(classic.queryExecution().toRdd(), few.schema(), true)
        .select(functions.col("address"), BatchTime.micros())
        .mapPartitions(this, BytesEncoder.WIRE);
  }

  private Dataset<Row> addressesOf(SparkSession session, int operator) {
    Dataset<Row> state =
        session
            .read()
            .format("statestore")
            .option("operatorId", operator)
            .option("stateVarName", "value")
            .option("batchId", batch)
            .load(checkpoint);
    StructType key = (StructType) state.schema().apply("key").dataType();
    return state.select(state.col("key").getField(key.fieldNames()[0]).as("address"));
  }

  @Override
  public Iterator<Tuple2<byte[], byte[]>> call(Iterator<Row> rows) {
    if (!"true".equals(TaskContext.get().getLocalProperty(TELLING))) {
      return Collections.emptyIterator();
    }
    Outbox outbox = new Outbox();
    return new Iterator<>() {
      @Override
      public boolean hasNext() {
        while (!outbox.hasNext() && rows.hasNext()) {
          tell(rows.next(), outbox);
        }
        return outbox.hasNext();
      }

      @Override
      public Tuple2<byte[], byte[]> next() {
        if (!hasNext()) {
          throw new NoSuchElementException();
        }
        return outbox.next();
      }
    };
  }

  private void tell(Row row, Outbox outbox) {
    byte[] address = row.getAs(0);
    if (nodes.contains(Address.nodeOf(address))) {
      outbox.pass(Message.tell(row.getLong(1), first), address);
    }
  }
}
