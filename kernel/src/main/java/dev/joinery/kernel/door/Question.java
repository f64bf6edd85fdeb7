package dev.joinery.kernel.door;

import dev.joinery.kernel.bytes.Address;
import dev.joinery.kernel.bytes.KeyCodec;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.chain.AskedEvents;
import dev.joinery.kernel.chain.SharedProgram;
import dev.joinery.kernel.node.RelationRows;
import dev.joinery.kernel.program.Program;
import dev.joinery.kernel.program.StreamProgram;
import dev.joinery.kernel.render.ByteSink;
import dev.joinery.kernel.render.JsonWriter;
import dev.joinery.kernel.spark.BytesEncoder;
import dev.joinery.kernel.stream.Answers;
import dev.joinery.kernel.stream.StoreRows;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.api.java.function.FlatMapFunction;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.StructType;

/**
 * The keys that the events of one batch ask a store for at one node, each once; remembers them
 * until they are answered.
 */
public final class Question {
  private final Program program;
  private final Broadcast<SharedProgram> shared;
  private final Dataset<Row> wire;
  private final int node;
  private final List<Slice> keys;

  Question(Program program, Broadcast<SharedProgram> shared, Dataset<Row> wire, int node) {
    this.program = program;
    this.shared = shared;
    this.wire = wire;
    this.node = node;
    this.keys = distinct(wire, node);
  }

  private static List<Slice> distinct(Dataset<Row> wire, int node) {
    List<byte[]> found =
        ((org.apache.spark.sql.classic.Dataset<Row>) wire)
            .queryExecution()
            .toRdd()
            .toJavaRDD()
            .mapPartitions(new Keys(node))
            .collect();
    Set<Slice> distinct = new HashSet<>();
    found.forEach(each -> distinct.add(Slice.of(each)));
    List<Slice> ordered = new ArrayList<>(distinct);
    ordered.sort(null);
    return ordered;
  }

  /** The keys as JSON objects of the table's key columns, a line each. */
  public String keys() {
    StreamProgram.CurrentLookupProgram lookup = (StreamProgram.CurrentLookupProgram) program.nodes().get(node);
    Program.RelationProgram table = program.relations().get(lookup.relation());
    KeyCodec codec = RelationRows.keyOf(table);
    StructType type = new StructType();
    for (int ordinal : table.key()) {
      Program.Slot column = table.columns().get(ordinal);
      type = type.add(column.name(), column.type(), true);
    }
    JsonWriter writer = new JsonWriter(type);
    ByteSink out = new ByteSink(1 << 16);
    for (Slice key : keys) {
      writer.write(new GenericInternalRow(codec.decode(key)), out);
      out.append('\n');
    }
    return new String(out.array(), 0, out.size(), StandardCharsets.UTF_8);
  }

  /**
   * Sends the events on with what the store said.
   *
   * @param relationsJson what {@code Formats.of} reads, with flat rows for the table
   * @param lines for each key in turn: the row as JSON with its key, nothing where there is none,
   *     or {@code !} and why it is not a row of the table
   */
  public Dataset<Row> answer(String relationsJson, String lines) {
    StoreRows reader = new StoreRows(program, node, relationsJson);
    Map<Slice, byte[]> rows = new HashMap<>();
    Map<Slice, String> unfit = new HashMap<>();
    int at = 0;
    for (Slice key : keys) {
      int end = lines.indexOf('\n', at);
      String line = lines.substring(at, end);
      at = end + 1;
      if (line.startsWith("!")) {
        unfit.put(key, line.substring(1));
      } else if (!line.isEmpty()) {
        rows.put(key, reader.cell(line));
      }
    }
    JavaSparkContext context =
        JavaSparkContext.fromSparkContext(
            ((org.apache.spark.sql.classic.SparkSession) wire.sparkSession()).sparkContext());
    Broadcast<Answers> answers = context.broadcast(new Answers(rows, unfit));
    return wire.as(BytesEncoder.WIRE)
        .mapPartitions(new AskedEvents(shared, answers, node), BytesEncoder.WIRE)
        .toDF();
  }

  /** Finds the keys of one task's events at a node; an event without a key asks for nothing. */
  private record Keys(int node) implements FlatMapFunction<Iterator<InternalRow>, byte[]> {
    @Override
    public Iterator<byte[]> call(Iterator<InternalRow> rows) {
      Set<Slice> found = new HashSet<>();
      while (rows.hasNext()) {
        byte[] address = rows.next().getBinary(1);
        if (Address.nodeOf(address) == node) {
          Slice key = Address.keyOf(address);
          if (!key.isEmpty() && key.array()[key.offset()] != 0) {
            found.add(key);
          }
        }
      }
      return found.stream().map(Slice::toBytes).iterator();
    }
  }
}
