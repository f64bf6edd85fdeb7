package dev.joinery.kernel;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.joinery.kernel.format.Format;
import dev.joinery.kernel.format.Formats;
import java.util.List;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoder;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.KeyValueGroupedDataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.TimeMode;
import scala.Tuple2;
import scala.jdk.javaapi.CollectionConverters;

/** The door to the kernel: DataFrame in, DataFrame out. */
public final class Kernel {
  static final Encoder<Tuple2<byte[], byte[]>> WIRE =
      Encoders.tuple(Encoders.BINARY(), Encoders.BINARY());

  private final Program program;
  private final Broadcast<Shipment> shipment;

  private Kernel(Program program, Broadcast<Shipment> shipment) {
    this.program = program;
    this.shipment = shipment;
  }

  /**
   * Compiles a program.
   *
   * @param session whose analyser resolves the expressions; its settings are not touched
   * @param programJson as the planner writes it
   */
  public static Kernel open(SparkSession session, String programJson) {
    Program program = ProgramReader.read(programJson);
    Compiler compiler = new Compiler((org.apache.spark.sql.classic.SparkSession) session);
    Shipment shipment = Shipment.of(compiler.compile(program));
    JavaSparkContext context = JavaSparkContext.fromSparkContext(session.sparkContext());
    return new Kernel(program, context.broadcast(shipment));
  }

  /**
   * Decodes raw records and sends them down the chain.
   *
   * @param raw columns topic (its place in {@code readJson}), major, minor, file, key, value,
   *     error, name (the topic's own name where a relation reads several, else null)
   * @param relationsJson what {@link Formats#of} reads
   * @param sources of each relation
   * @param topics of each relation
   * @param readJson for each number in the column topic, the places of its relations
   * @return two binary columns, a message and its address; for {@link #stage} or {@link #documents}
   */
  public Dataset<Row> chain(
      Dataset<Row> raw,
      String relationsJson,
      String[] sources,
      String[] topics,
      String readJson) {
    Format[] formats = Formats.of(relationsJson, raw.sparkSession());
    Dataset<Row> stamped =
        raw.select(
            raw.col("topic"),
            raw.col("major"),
            raw.col("minor"),
            raw.col("file").cast("binary").as("file"),
            raw.col("key"),
            raw.col("value"),
            raw.col("error"),
            functions.unix_micros(functions.current_timestamp()).as("timestamp"),
            raw.col("name"));
    Ingress ingress =
        new Ingress(program, formats, sources, topics, numbers(readJson));
    return levels(stamped.mapPartitions(ingress, WIRE)).toDF();
  }

  private static int[][] numbers(String json) {
    try {
      return new ObjectMapper().readValue(json, int[][].class);
    } catch (JsonProcessingException notNumbers) {
      throw new IllegalArgumentException("not a list of lists of numbers", notNumbers);
    }
  }

  /** Opens the door for frames that are planned in {@code session}. */
  public Frames frames(SparkSession session) {
    return new Frames(
        (org.apache.spark.sql.classic.SparkSession) session, program, this::levels);
  }

  private Dataset<Tuple2<byte[], byte[]>> levels(Dataset<Tuple2<byte[], byte[]>> wire) {
    Dataset<Tuple2<byte[], byte[]>> current = wire;
    for (int level = 1; level <= program.levels(); level++) {
      current =
          byAddress(current)
              .transformWithState(
                  new Level(shipment, level), TimeMode.None(), OutputMode.Update(), WIRE);
    }
    return current;
  }

  /** Groups messages by their address, without a function that would decode each row for it. */
  private static KeyValueGroupedDataset<byte[], byte[]> byAddress(
      Dataset<Tuple2<byte[], byte[]>> wire) {
    QueryExecution execution =
        ((org.apache.spark.sql.classic.Dataset<?>) wire).queryExecution();
    List<Attribute> columns = CollectionConverters.asJava(execution.analyzed().output());
    return new org.apache.spark.sql.classic.KeyValueGroupedDataset<>(
        new BytesEncoder(),
        new BytesEncoder(),
        execution,
        CollectionConverters.asScala(List.of(columns.get(0))).toSeq(),
        CollectionConverters.asScala(List.of(columns.get(1))).toSeq());
  }

  /**
   * Runs a batch of the chain once, and writes its documents below {@code folder}, a folder a
   * product, and its dead letters.
   *
   * @return what was counted, as JSON: {@code {"documents": {product: {upserts, tombstones,
   *     bytes}}, "relations": {relation: {read, dead, stale, …}}, "counters": {product: {…}},
   *     "dead_letters": {"": {count}}}}
   */
  public String stage(Dataset<Row> chain, String folder) {
    List<Stage.Count> counts =
        ((org.apache.spark.sql.classic.Dataset<Row>) chain)
            .queryExecution()
            .toRdd()
            .toJavaRDD()
            .mapPartitions(new Stage(program.products(), folder))
            .collect();
    ObjectNode result = new ObjectMapper().createObjectNode();
    for (Stage.Count count : counts) {
      ObjectNode owner = result.withObjectProperty(count.kind()).withObjectProperty(count.owner());
      owner.put(count.counter(), owner.path(count.counter()).asLong() + count.count());
    }
    return result.toString();
  }
}
