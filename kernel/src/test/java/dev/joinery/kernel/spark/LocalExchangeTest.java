package dev.joinery.kernel.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkException;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.plans.physical.HashPartitioning;
import org.apache.spark.sql.catalyst.plans.physical.UnknownPartitioning;
import org.apache.spark.sql.catalyst.types.DataTypeUtils;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.RDDScanExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.exchange.ENSURE_REQUIREMENTS$;
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.status.AppStatusStore;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/** In a session of two slots. */
@Timeout(60)
final class LocalExchangeTest {
  private static final Seq<Attribute> WIRE =
      seq(
          List.copyOf(
              CollectionConverters.asJava(
                  DataTypeUtils.toAttributes(
                      new StructType()
                          .add("message", DataTypes.BinaryType)
                          .add("address", DataTypes.BinaryType)))));
  private static final SparkContext SPARK = LocalSpark.SESSION.sparkContext();
  private static final JavaSparkContext JAVA = JavaSparkContext.fromSparkContext(SPARK);
  private static final List<UnsafeRow> ROWS = HandedRowsTest.random(1_000);

  private String group;

  @BeforeEach
  void session() {
    SparkSession.setActiveSession(LocalSpark.SESSION);
    group = UUID.randomUUID().toString();
    SPARK.setJobGroup(group, group, true);
  }

  @Test
  void rowsAreInThePartitionsThatAShuffleBringsThemTo() {
    List<List<String>> shuffled = partitions(shuffle(scan(ROWS, 7), 2).execute());
    RDD<InternalRow> handed = LocalExchange.of(shuffle(scan(ROWS, 7), 2));

    try (OneStage stage = OneStage.open(SPARK)) {
      assertEquals(shuffled, partitions(handed));
    }
    assertEquals(List.of(2, 1), stages());
  }

  @Test
  void aChainOfExchangesIsOneStage() {
    RDD<InternalRow> one = LocalExchange.of(shuffle(scan(ROWS, 1), 2));
    RDD<InternalRow> two = LocalExchange.of(shuffle(rows(one), 2));

    try (OneStage stage = OneStage.open(SPARK)) {
      assertEquals(ROWS.size(), partitions(two).stream().mapToInt(List::size).sum());
    }
    assertEquals(List.of(1), stages());
  }

  @Test
  void rowsThatAnotherJobReadsAreShuffled() {
    RDD<InternalRow> rows = LocalExchange.of(shuffle(scan(ROWS, 3), 2));

    assertEquals(ROWS.size(), partitions(rows).stream().mapToInt(List::size).sum());
    assertEquals(List.of(2), stages());
  }

  @Test
  void rowsAreShuffledWhereThereAreMoreTasksThanSlots() {
    RDD<InternalRow> rows = LocalExchange.of(shuffle(scan(ROWS, 1), 3));

    try (OneStage stage = OneStage.open(SPARK)) {
      assertEquals(ROWS.size(), partitions(rows).stream().mapToInt(List::size).sum());
    }
    assertEquals(List.of(2), stages());
  }

  @Test
  void rowsAreShuffledThatMoreTasksCouldReadAtOnce() {
    RDD<InternalRow> one = LocalExchange.of(shuffle(scan(ROWS, 3), 1));
    RDD<InternalRow> two = LocalExchange.of(shuffle(rows(one), 1));

    try (OneStage stage = OneStage.open(SPARK)) {
      assertEquals(ROWS.size(), partitions(two).stream().mapToInt(List::size).sum());
    }
    assertEquals(List.of(2), stages());
  }

  @Test
  void aTaskThatFailsEndsThoseThatWaitForIt() {
    RDD<InternalRow> failing =
        JavaRDD.fromRDD(scan(ROWS, 2).execute(), row())
            .map(
                row -> {
                  if (TaskContext.getPartitionId() == 1) {
                    throw new IllegalArgumentException("a row that cannot be read");
                  }
                  return row;
                })
            .rdd();
    RDD<InternalRow> rows = LocalExchange.of(shuffle(rows(failing), 2));

    try (OneStage stage = OneStage.open(SPARK)) {
      SparkException failed = assertThrows(SparkException.class, () -> partitions(rows));
      assertInstanceOf(IllegalArgumentException.class, failed.getCause());
    }
    // A task that still waited would keep one of the two slots that these need.
    assertEquals(ROWS.size(), twoLevels());
  }

  @Test
  void jobsThatCannotBothHaveTheirSlotsRunOneAfterTheOther() {
    List<CompletableFuture<Integer>> jobs =
        IntStream.range(0, 4).mapToObj(i -> CompletableFuture.supplyAsync(this::twoLevels)).toList();

    jobs.forEach(each -> assertEquals(ROWS.size(), each.join()));
  }

  private int twoLevels() {
    SparkSession.setActiveSession(LocalSpark.SESSION);
    RDD<InternalRow> one = LocalExchange.of(shuffle(scan(ROWS, 3), 2));
    RDD<InternalRow> two = LocalExchange.of(shuffle(rows(one), 2));
    try (OneStage stage = OneStage.open(SPARK)) {
      return partitions(two).stream().mapToInt(List::size).sum();
    }
  }

  /** The texts of the rows of each partition, in order. */
  private static List<List<String>> partitions(RDD<InternalRow> rows) {
    List<List<String>> all = new ArrayList<>();
    for (List<String> each : JavaRDD.fromRDD(rows, row()).map(Object::toString).glom().collect()) {
      all.add(each.stream().sorted().toList());
    }
    return all;
  }

  private static RDDScanExec scan(List<UnsafeRow> rows, int partitions) {
    return rows(JAVA.parallelize(List.<InternalRow>copyOf(rows), partitions).rdd());
  }

  private static RDDScanExec rows(RDD<InternalRow> rows) {
    return new RDDScanExec(
        WIRE, rows, "rows", new UnknownPartitioning(0), seq(List.<SortOrder>of()), Option.empty());
  }

  private static ShuffleExchangeExec shuffle(SparkPlan child, int partitions) {
    HashPartitioning byAddress =
        new HashPartitioning(seq(List.<Expression>of(WIRE.apply(1))), partitions);
    return new ShuffleExchangeExec(
        byAddress, child, ENSURE_REQUIREMENTS$.MODULE$, Option.empty(), false);
  }

  /** How many stages each job of this test had, in their order. */
  private List<Integer> stages() {
    AppStatusStore store = SPARK.statusStore();
    int[] jobs = SPARK.statusTracker().getJobIdsForGroup(group);
    return IntStream.of(jobs).sorted().map(job -> store.job(job).stageIds().size()).boxed().toList();
  }

  private static scala.reflect.ClassTag<InternalRow> row() {
    return scala.reflect.ClassTag$.MODULE$.apply(InternalRow.class);
  }

  private static <T> Seq<T> seq(List<T> elements) {
    return CollectionConverters.asScala(elements).toSeq();
  }
}
