package dev.joinery.kernel.chain;

import dev.joinery.kernel.bytes.Address;
import dev.joinery.kernel.bytes.BinaryRow;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.state.MovedNotes;
import java.util.ArrayDeque;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Queue;
import java.util.stream.IntStream;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.api.java.function.FlatMapFunction;
import org.apache.spark.api.java.function.MapPartitionsFunction;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoder;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.streaming.checkpointing.CommitLog;
import org.apache.spark.sql.execution.streaming.checkpointing.CommitMetadataBase;
import org.apache.spark.sql.execution.streaming.runtime.StreamingQueryCheckpointMetadata;
import org.apache.spark.sql.execution.streaming.state.StateRewriter;
import org.apache.spark.sql.execution.streaming.utils.StreamingUtils;
import org.apache.spark.sql.functions;
import scala.Option;
import scala.collection.immutable.Map;

/**
 * The state of a checkpoint in another number of partitions: each row where Spark gives its address,
 * and each note of what may be forgotten where the state is that it tells of. Remembers nothing.
 *
 * <p>Spark's own tool takes a note for a row like any other, and lists of notes go where their own
 * addresses belong. So once it has made a batch of what stood, the state of that batch is written
 * again, by the same classes of Spark, and the batch is committed with what was written last.
 *
 * <p>A list that is taken apart goes on as rows of one note each, beside the state of its owner;
 * there they are put together to lists again. A head goes to all partitions.
 */
public final class MovedState {
  /** The state variable of a level. */
  static final String VARIABLE = "value";

  /** The columns that Spark's reader of all state gives: where to, the key, the value, of what. */
  private static final String OWNER = "partition_key";

  private static final int KEY = 1;
  private static final int VALUE = 2;
  private static final int FAMILY = 3;

  private MovedState() {}

  /**
   * Writes the state of a batch that moved state, and did nothing else.
   *
   * @param checkpoint of a query that does not run; its last batch is that one
   * @param batch its number
   * @param partitions how many there are from that batch on
   */
  public static void write(
      SparkSession session, String checkpoint, long batch, int partitions) {
    Configuration settings = session.sessionState().newHadoopConf();
    String location = StreamingUtils.resolvedCheckpointLocation(settings, checkpoint);
    StreamingQueryCheckpointMetadata logs =
        new StreamingQueryCheckpointMetadata(session, location, false);
    StateRewriter rewriter =
        new StateRewriter(
            session,
            batch - 1,
            batch,
            location,
            settings,
            Option.empty(),
            Option.apply(state -> moved(session, state, partitions)),
            Option.apply(logs));
    commit(logs.commitLog(), batch, rewriter.run());
  }

  /** Where tasks name what they write, the batch says which it is that counts. */
  private static void commit(
      CommitLog log, long batch, Option<Map<Object, String[][]>> written) {
    if (written.isDefined()) {
      CommitMetadataBase done = log.get(batch).get();
      log.purgeAfter(batch - 1);
      if (!log.add(batch, done.withStateUniqueIds(written))) {
        throw new IllegalStateException("batch " + batch + " was committed by another");
      }
    }
  }

  private static Dataset<Row> moved(SparkSession session, Dataset<Row> state, int partitions) {
    Encoder<Row> same = Encoders.row(state.schema());
    Dataset<Row> moved =
        state
            .flatMap(new Apart(partitions), same)
            .repartition(partitions, functions.col(OWNER))
            .mapPartitions(new Together(), same);
    // Of the very schema that was read: an encoder may take a column for one that can be null.
    return session.internalCreateDataFrame(
        moved.queryExecution().toRdd(), state.schema(), false);
  }

  private static boolean isOfNotes(Row row) {
    return VARIABLE.equals(row.getString(FAMILY)) && Address.isOfNotes(bytesIn(row, KEY));
  }

  private static byte[] bytesIn(Row row, int column) {
    byte[] bytes = row.getAs(column);
    return BinaryRow.of(Slice.of(bytes), 1).getBinary(0);
  }

  /** A row of notes that goes where an address belongs. */
  private static Row row(byte[] owner, byte[] address, byte[] value) {
    Row to = RowFactory.create(new Object[] {owner});
    return RowFactory.create(to, rowOf(address), rowOf(value), VARIABLE);
  }

  private static byte[] rowOf(byte[] bytes) {
    UnsafeRowWriter writer = new UnsafeRowWriter(1, bytes.length + 16);
    writer.reset();
    writer.zeroOutNullBytes();
    writer.write(0, bytes);
    return writer.getRow().getBytes();
  }

  /** Has each note go where its owner is, each head everywhere, all else where it belongs. */
  private record Apart(int partitions) implements FlatMapFunction<Row, Row> {
    @Override
    public Iterator<Row> call(Row row) {
      if (!isOfNotes(row)) {
        return List.of(row).iterator();
      }
      byte[] address = bytesIn(row, KEY);
      byte[] bytes = bytesIn(row, VALUE);
      if (MovedNotes.isHead(address)) {
        return IntStream.range(0, partitions)
            .mapToObj(each -> row(Address.inPartition(each), address, bytes))
            .iterator();
      }
      return MovedNotes.apart(bytes).stream()
          .map(each -> row(each.owner(), address, each.list()))
          .iterator();
    }
  }

  /** Puts the notes of a partition together. */
  private record Together() implements MapPartitionsFunction<Row, Row> {
    @Override
    public Iterator<Row> call(Iterator<Row> rows) {
      return new Rows(rows);
    }
  }

  /** The rows of a partition: those of notes are others, and the last of these come at the end. */
  private static final class Rows implements Iterator<Row> {
    private final Iterator<Row> rows;
    private final MovedNotes notes = new MovedNotes();
    private final Queue<Row> next = new ArrayDeque<>();
    private boolean finished;

    Rows(Iterator<Row> rows) {
      this.rows = rows;
    }

    @Override
    public boolean hasNext() {
      while (next.isEmpty() && !finished) {
        if (rows.hasNext()) {
          take(rows.next());
        } else {
          notes.finish(this::write);
          finished = true;
        }
      }
      return !next.isEmpty();
    }

    private void take(Row row) {
      if (isOfNotes(row)) {
        notes.take(bytesIn(row, KEY), bytesIn(row, VALUE), this::write);
      } else {
        next.add(row);
      }
    }

    private void write(byte[] address, byte[] value) {
      next.add(row(address, address, value));
    }

    @Override
    public Row next() {
      if (!hasNext()) {
        throw new NoSuchElementException();
      }
      return next.remove();
    }
  }
}
