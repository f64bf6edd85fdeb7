package dev.joinery.kernel.door;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.util.RawValue;
import dev.joinery.kernel.chain.Counting;
import dev.joinery.kernel.chain.Level;
import dev.joinery.kernel.chain.LiveLevel;
import dev.joinery.kernel.chain.SharedProgram;
import dev.joinery.kernel.chain.StateMark;
import dev.joinery.kernel.chain.TaskCounts;
import dev.joinery.kernel.chain.TaskLevel;
import dev.joinery.kernel.egress.Stage;
import dev.joinery.kernel.egress.Staging;
import dev.joinery.kernel.ingress.Entrance;
import dev.joinery.kernel.ingress.Ingress;
import dev.joinery.kernel.message.Counters;
import dev.joinery.kernel.program.Compiler;
import dev.joinery.kernel.program.Program;
import dev.joinery.kernel.program.ProgramReader;
import dev.joinery.kernel.spark.BatchJob;
import dev.joinery.kernel.spark.BatchTime;
import dev.joinery.kernel.spark.BytesEncoder;
import dev.joinery.kernel.spark.HadoopSettings;
import dev.joinery.kernel.spark.PlanCut;
import dev.joinery.kernel.spark.StageSlots;
import java.io.IOException;
import java.util.List;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.KeyValueGroupedDataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.TimeMode;
import scala.Tuple2;
import scala.jdk.javaapi.CollectionConverters;

/** The door to the kernel: DataFrame in, DataFrame out. */
public final class Kernel {
  private final Program program;
  private final Broadcast<SharedProgram> shared;
  private final ToldRows told;
  private final Reading again;

  private Kernel(
      Program program, Broadcast<SharedProgram> shared, ToldRows told, Reading again) {
    this.program = program;
    this.shared = shared;
    this.told = told;
    this.again = again;
  }

  /**
   * Compiles a program.
   *
   * @param session whose analyser resolves the expressions; its settings are not touched
   * @param programJson as the planner writes it
   * @param marks what tells its state from that of other programs, then what told it in formats
   *     that are read as well
   */
  public static Kernel open(SparkSession session, String programJson, List<String> marks) {
    HadoopSettings.trim(session.sparkContext());
    Program program = ProgramReader.read(programJson);
    Compiler compiler = new Compiler((org.apache.spark.sql.classic.SparkSession) session);
    SharedProgram shared = SharedProgram.of(compiler.compile(program), StateMark.of(marks));
    JavaSparkContext context = JavaSparkContext.fromSparkContext(session.sparkContext());
    return new Kernel(program, context.broadcast(shared), null, null);
  }

  /**
   * Decodes raw records and sends them down the chain.
   *
   * @return two binary columns, a message and its address; for {@link #stage} or {@link #documents}
   */
  public Dataset<Row> chain(Reading reading) {
    return levels(wire(ingress(reading), reading)).toDF();
  }

  /**
   * The same, and tells in a batch of which its thread says so what waits for the time of a log that
   * it has ended.
   */
  public Dataset<Row> chainToEnd(Reading reading) {
    Dataset<Tuple2<byte[], byte[]>> wire = wire(ingress(reading), reading);
    SparkSession session = reading.raw().sparkSession();
    return levels(wire.union(new EndedLogs(program).wire(session))).toDF();
  }

  /**
   * The same, and sends the documents of pending roots again.
   *
   * @param batch the one batch that tells the roots
   * @param roots a file, whose lines {@link dev.joinery.kernel.ingress.PendingRoots#read} reads
   */
  public Dataset<Row> chain(Reading reading, long batch, String roots) {
    return levels(wire(ingress(reading).telling(roots, batch), reading)).toDF();
  }

  private Ingress ingress(Reading reading) {
    return reading.ingress(program).sendingTo(destinations()).sharing(shared);
  }

  /**
   * The same, of which a batch has the rows that stand told to nodes that were added.
   *
   * @param checkpoint of the query
   * @param batch the one before, whose state says which rows these are
   * @param nodes the Retracts that have them
   * @param first the lowest number of the nodes that were added
   */
  public Kernel telling(String checkpoint, long batch, List<Integer> nodes, int first) {
    ToldRows rows = ToldRows.of(program, checkpoint, batch, nodes, first);
    return new Kernel(program, shared, rows, again);
  }

  /**
   * The same, of which a batch has records that were read before sent to nodes that were added.
   *
   * @param records of a log, not a stream; of them those are decoded that {@link
   *     Reading#readJson} names
   */
  public Kernel readingAgain(Reading records) {
    return new Kernel(program, shared, told, records);
  }

  private Dataset<Tuple2<byte[], byte[]>> wire(Ingress ingress, Reading reading) {
    Dataset<Tuple2<byte[], byte[]>> read =
        PlanCut.teaching(reading.through(ingress, BatchTime.micros()));
    org.apache.spark.sql.classic.SparkSession session = classic(reading.raw()).sparkSession();
    if (told != null) {
      read = read.union(told.wire(session));
    }
    if (again != null) {
      read = read.union(new ReadAgain(ingress(again)).wire(again, session));
    }
    return read;
  }

  /** Opens the door for a query in real-time mode, in {@code session}. */
  public RealTime realTime(SparkSession session) {
    StageSlots.of(session.sparkContext()).close();
    return new RealTime(
        ((org.apache.spark.sql.classic.SparkSession) session).sparkContext(),
        program,
        shared,
        Entrance.isNeeded(program) ? Entrance.unending(shared) : routed(shared),
        this::unendingLevels);
  }

  /** Opens the door for frames that are planned in {@code session}. */
  public Frames frames(SparkSession session) {
    return new Frames(
        (org.apache.spark.sql.classic.SparkSession) session,
        program,
        destinations(),
        this::levels);
  }

  /** Opens the door for streams that leave the kernel between two of their steps. */
  public Streams streams() {
    return new Streams(program, shared);
  }

  /** Of what tasks share alone: neither a kernel nor a program goes to each of them. */
  private static Ingress.Destinations routed(Broadcast<SharedProgram> shared) {
    return origin -> new Ingress.Router(shared.value().program());
  }

  private Ingress.Destinations destinations() {
    return Entrance.isNeeded(program) ? Entrance.of(shared) : routed(shared);
  }

  private Dataset<Tuple2<byte[], byte[]>> levels(Dataset<Tuple2<byte[], byte[]>> wire) {
    Dataset<Tuple2<byte[], byte[]>> current = wire;
    for (int level = 1; level <= program.levels(); level++) {
      current = level(program, shared, current, level);
    }
    return current;
  }

  /** The same for tasks that run for minutes. */
  private Dataset<Tuple2<byte[], byte[]>> unendingLevels(Dataset<Tuple2<byte[], byte[]>> wire) {
    Dataset<Tuple2<byte[], byte[]>> current = wire;
    for (int level = 1; level <= program.levels(); level++) {
      current =
          LiveLevel.suits(program, level)
              ? PlanCut.under(
                  level(program, current, new LiveLevel(shared, level), level), BytesEncoder.WIRE)
              : level(program, current, new Level(shared, level, new Counting.EachGroup()), level);
    }
    return current;
  }

  static Dataset<Tuple2<byte[], byte[]>> level(
      Program program,
      Broadcast<SharedProgram> shared,
      Dataset<Tuple2<byte[], byte[]>> wire,
      int level) {
    Dataset<Tuple2<byte[], byte[]>> cut = PlanCut.under(wire, BytesEncoder.WIRE);
    if (PlanCut.takesWholeTasks(wire)) {
      return PlanCut.under(
          level(program, cut, new TaskLevel(shared, level), level), BytesEncoder.WIRE);
    }
    Level operator = new Level(shared, level, new Counting.EachTask());
    return level(program, cut, operator, level)
        .mapPartitions(new TaskCounts(shared), BytesEncoder.WIRE);
  }

  private static Dataset<Tuple2<byte[], byte[]>> level(
      Program program, Dataset<Tuple2<byte[], byte[]>> wire, Level operator, int level) {
    return byAddress(wire)
        .transformWithState(
            operator,
            program.isTimed(level) ? TimeMode.ProcessingTime() : TimeMode.None(),
            OutputMode.Update(),
            BytesEncoder.WIRE);
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
   * @param settling products that settle, whose lines say what they replace at a sink
   * @return what was counted, as JSON: {@code {"documents": {product: {upserts, tombstones,
   *     bytes}}, "relations": {relation: {read, dead, stale, …}}, "counters": {product: {…}},
   *     "dead_letters": {"": {count}}}}
   */
  public String stage(Dataset<Row> chain, String folder, List<String> settling)
      throws IOException {
    Stage stage = new Stage(program.products(), folder);
    return stage(chain, stage.settling(Set.copyOf(settling)));
  }

  /**
   * Does the same where tasks do not see {@code folder}, and leave their parts in a store.
   *
   * @param readByTasks products whose documents tasks read there
   * @param leftToTasks those of them that nobody else reads, whose documents stay there
   * @param settling products that settle, whose lines say what they replace at a sink
   * @return {@code {"counts": …, "attempts": {product: {partition: attempt}}}}: the same, and the
   *     attempts whose parts count, each at {@code store/attempt/product}
   */
  public String stageApart(
      Dataset<Row> chain,
      String folder,
      String store,
      List<String> readByTasks,
      List<String> leftToTasks,
      List<String> settling)
      throws IOException {
    Configuration settings = classic(chain).sparkSession().sessionState().newHadoopConf();
    Staging staging = Staging.inStore(store, settings);
    Set<String> some = Set.copyOf(readByTasks);
    Set<String> all = Set.copyOf(leftToTasks);
    Stage stage = new Stage(program.products(), folder, staging, some, all);
    Staged staged = staged(chain, stage.settling(Set.copyOf(settling)));
    ObjectNode told = JsonNodeFactory.instance.objectNode();
    told.putRawValue("counts", new RawValue(staged.counts().toJson()));
    told.set("attempts", attempts(staged.parts(), some));
    return told.toString();
  }

  private static ObjectNode attempts(List<Stage.Part> parts, Set<String> products) {
    ObjectNode attempts = JsonNodeFactory.instance.objectNode();
    for (Stage.Part part : parts) {
      for (String product : products) {
        if (part.sizes().containsKey(product)) {
          attempts
              .withObjectProperty(product)
              .put(Integer.toString(part.partition()), part.attempt());
        }
      }
    }
    return attempts;
  }

  private static org.apache.spark.sql.classic.Dataset<Row> classic(Dataset<Row> chain) {
    return (org.apache.spark.sql.classic.Dataset<Row>) chain;
  }

  static String stage(Dataset<Row> chain, Stage stage) throws IOException {
    return staged(chain, stage).counts().toJson();
  }

  /** What was kept of a batch, and counted. */
  private record Staged(List<Stage.Part> parts, Counters counts) {}

  private static Staged staged(Dataset<Row> chain, Stage stage) throws IOException {
    stage.open();
    try {
      List<Stage.Part> parts = BatchJob.run(chain, stage);
      return new Staged(parts, stage.keep(parts));
    } finally {
      stage.clear();
    }
  }
}
