package dev.joinery.kernel.door;

import dev.joinery.kernel.chain.LiveLevel;
import dev.joinery.kernel.chain.SharedProgram;
import dev.joinery.kernel.egress.Fence;
import dev.joinery.kernel.egress.Handover;
import dev.joinery.kernel.egress.SinkRows;
import dev.joinery.kernel.ingress.Ingress;
import dev.joinery.kernel.message.Counters;
import dev.joinery.kernel.message.Tally;
import dev.joinery.kernel.program.Program;
import dev.joinery.kernel.spark.Calls;
import dev.joinery.kernel.spark.PlanCut;
import dev.joinery.kernel.spark.WallClock;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.UnaryOperator;
import org.apache.spark.SparkContext;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.scheduler.AccumulableInfo;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerExecutorMetricsUpdate;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoder;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.DataTypes;
import scala.Tuple2;
import scala.Tuple5;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The chain as real-time mode runs it: each record is stamped with the time at which it comes, and
 * what leaves the chain goes to Spark's own Kafka sink, or is handed to the driver of a local session.
 *
 * <p>Remembers what tasks have counted so far, those that are still running included.
 */
public final class RealTime implements AutoCloseable {
  private static final Encoder<Tuple5<String, byte[], byte[], String, byte[]>> RECORD =
      Encoders.tuple(
          Encoders.STRING(),
          Encoders.BINARY(),
          Encoders.BINARY(),
          Encoders.STRING(),
          Encoders.BINARY());

  private static final String ALLOWLIST_CHECK = "spark.sql.streaming.realTimeMode.allowlistCheck";

  private final SparkContext context;
  private final Program program;
  private final Broadcast<SharedProgram> shared;
  private final Ingress.Destinations destinations;
  private final UnaryOperator<Dataset<Tuple2<byte[], byte[]>>> levels;
  private final Tally tally = new Tally();
  private final Counting counting = new Counting();

  RealTime(
      SparkContext context,
      Program program,
      Broadcast<SharedProgram> shared,
      Ingress.Destinations destinations,
      UnaryOperator<Dataset<Tuple2<byte[], byte[]>>> levels) {
    this.context = context;
    this.program = program;
    this.shared = shared;
    this.destinations = destinations;
    this.levels = levels;
    context.register(tally, "joinery");
    context.addSparkListener(counting);
  }

  /**
   * Returns the stream that Spark's Kafka sink takes: topic, key, value, headers. From here on the
   * JVM collects for no other reason than that its heap is full.
   *
   * @param target what {@link SinkRows.Target#read} reads
   * @param lease the file of the query's lease
   * @param owner who holds it: this run
   */
  public Dataset<Row> records(Reading reading, String target, String lease, String owner) {
    Dataset<Row> rows = rows(reading, SinkRows.Target.read(target), lease, owner);
    Column header =
        functions.struct(rows.col("header").as("key"), rows.col("told").as("value"));
    return rows.select(
        rows.col("topic"),
        rows.col("key"),
        rows.col("value"),
        functions.array(header).as("headers"));
  }

  /** Returns the stream that tasks hand over to the driver, for {@link Handover#writer}. */
  public Dataset<Row> handed(Reading reading, String lease, String owner) {
    List<String> products = program.products().stream().map(each -> each.name()).toList();
    return rows(reading, SinkRows.Target.handed(products), lease, owner);
  }

  /** Returns what hands documents over to the driver, which runs on the machine of all tasks. */
  public Handover handover(String checkpoint) {
    return new Handover(checkpoint);
  }

  private Dataset<Row> rows(
      Reading reading, SinkRows.Target target, String lease, String owner) {
    SpareMemory.keep(context);
    if (LiveLevel.isIn(program)) {
      takeOurOperators(reading.raw().sparkSession());
    }
    SinkRows sink = new SinkRows(program.products(), target, tally, new Fence(lease, owner));
    Column now = Calls.call(Calls.literal(new WallClock()), "micros", DataTypes.LongType);
    Ingress ingress =
        reading.ingress(program).sendingTo(destinations).sharing(shared).countingInto(tally);
    return levels
        .apply(PlanCut.teaching(reading.through(ingress, now)))
        .mapPartitions(sink, RECORD)
        .toDF("topic", "key", "value", "header", "told");
  }

  /** Spark checks a real-time plan against a list of its own operators; ours are not on it. */
  private static void takeOurOperators(SparkSession session) {
    session.conf().set(ALLOWLIST_CHECK, false);
  }

  /**
   * What was counted since the start, as JSON, in the form of {@link Kernel#stage}: as of the last
   * heartbeat of each task.
   */
  public String counts() {
    return counting.totals().toJson();
  }

  @Override
  public void close() {
    context.removeSparkListener(counting);
  }

  /** Remembers the newest counts of each task. */
  private final class Counting extends SparkListener {
    private final Map<Long, Counters> byTask = new ConcurrentHashMap<>();
    private final Counters ended = new Counters();

    @Override
    public void onExecutorMetricsUpdate(SparkListenerExecutorMetricsUpdate update) {
      CollectionConverters.asJava(update.accumUpdates())
          .forEach(each -> note((Long) each._1(), CollectionConverters.asJava(each._4())));
    }

    @Override
    public synchronized void onTaskEnd(SparkListenerTaskEnd end) {
      long task = end.taskInfo().taskId();
      note(task, CollectionConverters.asJava(end.taskInfo().accumulables()));
      Counters counts = byTask.remove(task);
      if (counts != null) {
        ended.addAll(counts);
      }
    }

    private void note(long task, Iterable<AccumulableInfo> infos) {
      for (AccumulableInfo info : infos) {
        if (info.id() == tally.id() && info.update().isDefined()) {
          byTask.put(task, (Counters) info.update().get());
        }
      }
    }

    synchronized Counters totals() {
      Counters totals = new Counters();
      totals.addAll(ended);
      byTask.values().forEach(totals::addAll);
      return totals;
    }
  }
}
