package dev.joinery.kernel.door;

import dev.joinery.kernel.chain.MapEvents;
import dev.joinery.kernel.chain.SharedProgram;
import dev.joinery.kernel.ingress.Entrance;
import dev.joinery.kernel.ingress.Ingress;
import dev.joinery.kernel.program.Program;
import dev.joinery.kernel.program.StreamProgram;
import dev.joinery.kernel.spark.BatchTime;
import dev.joinery.kernel.spark.BytesEncoder;
import dev.joinery.kernel.spark.Calls;
import dev.joinery.kernel.spark.EventReader;
import dev.joinery.kernel.spark.OutputReader;
import dev.joinery.kernel.spark.PlanCut;
import dev.joinery.kernel.spark.RowPacker;
import dev.joinery.kernel.stream.StoreRows;
import java.util.function.LongConsumer;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.DataTypes;

/**
 * The door to streams some of whose steps are not the kernel's: levels one by one, events as
 * columns for a user's function, keys for a store that is asked.
 *
 * <p>Every frame here has two binary columns, a message and its address.
 */
public final class Streams {
  private final Program program;
  private final Broadcast<SharedProgram> shared;

  Streams(Program program, Broadcast<SharedProgram> shared) {
    this.program = program;
    this.shared = shared;
  }

  /** Decodes raw records; each event goes through its first steps. */
  public Dataset<Row> decoded(Reading reading) {
    Ingress ingress = reading.ingress(program).sendingTo(Entrance.of(shared)).sharing(shared);
    return PlanCut.teaching(reading.through(ingress, BatchTime.micros())).toDF();
  }

  /** Sends everything through the nodes of one level that keep state. */
  public Dataset<Row> level(Dataset<Row> wire, int level) {
    return Kernel.level(program, shared, wire.as(BytesEncoder.WIRE), level).toDF();
  }

  /** Adds a column {@code row}: the event where it is at this node, else null. */
  public Dataset<Row> mapping(Dataset<Row> wire, int node) {
    StreamProgram.MapProgram map = (StreamProgram.MapProgram) program.nodes().get(node);
    Expression reader = Calls.literal(new EventReader(node, map.event().length()));
    Column message = wire.col(wire.columns()[0]);
    Column address = wire.col(wire.columns()[1]);
    return wire.select(
        message.as("_1"),
        address.as("_2"),
        Calls.call(reader, "row", map.event(), message, address).as("row"));
  }

  /**
   * Sends the events of a node on as a function left them.
   *
   * @param wire with columns {@code row}, null where the function dropped the event, and {@code
   *     error}, which tells why it failed
   */
  public Dataset<Row> mapped(Dataset<Row> wire, int node) {
    StreamProgram.MapProgram map = (StreamProgram.MapProgram) program.nodes().get(node);
    Expression packer = Calls.literal(new RowPacker(map.output()));
    Dataset<Row> packed =
        wire.select(
            wire.col("_1"),
            wire.col("_2"),
            Calls.call(packer, "pack", DataTypes.BinaryType, wire.col("row")).as("row"),
            wire.col("error"));
    return packed.mapPartitions(new MapEvents(shared, node), BytesEncoder.WIRE).toDF();
  }

  /**
   * The events of a program of one stream: columns key, value, version; {@code watch} hears how
   * many dead letters a batch left out.
   */
  public Dataset<Row> documents(Dataset<Row> all, LongConsumer watch) {
    Program.ProductProgram product = program.products().get(0);
    Expression reader = Calls.literal(new OutputReader(product));
    Column record = all.col(all.columns()[0]);
    Column refusal = Calls.call(reader, "refusal", DataTypes.StringType, record);
    Column count = functions.count_if(refusal.isNotNull()).as(LettersLeftOut.COUNT);
    all.sparkSession().streams().addListener(new LettersLeftOut(watch));
    Dataset<Row> wire = all.observe(LettersLeftOut.METRIC, count);
    Column message = wire.col(wire.columns()[0]);
    return wire.filter(Calls.call(reader, "isDocument", DataTypes.BooleanType, message))
        .select(
            Calls.call(reader, "key", product.key(), message).as("key"),
            Calls.call(reader, "value", product.value(), message).as("value"),
            Calls.call(reader, "version", DataTypes.LongType, message).as("version"));
  }

  /** Finds the keys that the events of a batch ask a store for at a node. */
  public Question ask(Dataset<Row> wire, int node) {
    return new Question(program, shared, wire, node);
  }

  /**
   * Sends a table of a store to all tasks, for the events of a node.
   *
   * @param wire of any batch
   * @param relationsJson as {@link Question#answer} takes it
   * @param lines as {@link WholeTable#of} takes them
   */
  public WholeTable whole(Dataset<Row> wire, int node, String relationsJson, String lines) {
    JavaSparkContext context =
        JavaSparkContext.fromSparkContext(
            ((org.apache.spark.sql.classic.SparkSession) wire.sparkSession()).sparkContext());
    StoreRows rows = new StoreRows(program, node, relationsJson);
    return WholeTable.of(context, shared, node, rows, lines);
  }
}
