package dev.joinery.kernel.door;

import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.chain.AskedEvents;
import dev.joinery.kernel.chain.SharedProgram;
import dev.joinery.kernel.spark.BytesEncoder;
import dev.joinery.kernel.stream.Answers;
import dev.joinery.kernel.stream.StoreRows;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;

/**
 * A small table of a store, sent whole to all tasks, so that events are answered where they are;
 * remembers its rows until it is closed.
 */
public final class WholeTable implements AutoCloseable {
  private final Broadcast<SharedProgram> shared;
  private final Broadcast<Answers> answers;
  private final int node;

  WholeTable(Broadcast<SharedProgram> shared, Broadcast<Answers> answers, int node) {
    this.shared = shared;
    this.answers = answers;
    this.node = node;
  }

  /**
   * Reads a table.
   *
   * @param context to send it with
   * @param rows reads what the store gave
   * @param lines pairs of lines: a key as JSON, then what {@link Question#answer} takes for it
   */
  static WholeTable of(
      JavaSparkContext context,
      Broadcast<SharedProgram> shared,
      int node,
      StoreRows rows,
      String lines) {
    Map<Slice, byte[]> cells = new HashMap<>();
    Map<Slice, String> unfit = new HashMap<>();
    String[] parts = lines.isEmpty() ? new String[0] : lines.split("\n");
    for (int i = 0; i < parts.length; i += 2) {
      Slice key = rows.key(parts[i]);
      if (parts[i + 1].startsWith("!")) {
        unfit.put(key, parts[i + 1].substring(1));
      } else {
        cells.put(key, rows.cell(parts[i + 1]));
      }
    }
    return new WholeTable(shared, context.broadcast(new Answers(cells, unfit)), node);
  }

  /** Sends the events of a batch on with the rows of the table; a key that it lacks has none. */
  public Dataset<Row> answer(Dataset<Row> wire) {
    return wire.as(BytesEncoder.WIRE)
        .mapPartitions(new AskedEvents(shared, answers, node), BytesEncoder.WIRE)
        .toDF();
  }

  @Override
  public void close() {
    answers.unpersist();
  }
}
