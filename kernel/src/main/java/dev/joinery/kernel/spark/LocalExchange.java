package dev.joinery.kernel.spark;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.Dependency;
import org.apache.spark.NarrowDependency;
import org.apache.spark.Partition;
import org.apache.spark.TaskContext;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.plans.physical.HashPartitioning;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec;
import org.apache.spark.unsafe.hash.Murmur3_x86_32;
import org.apache.spark.util.TaskFailureListener;
import scala.collection.Iterator;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;

/**
 * The rows of a shuffle by address; where the job is {@linkplain OneStage one of ours}, its tasks
 * hand them to one another in memory, and go on in the same stage.
 *
 * <p>Rows are parted as Spark's shuffle parts them, so state stands in the same partitions.
 */
final class LocalExchange extends RDD<InternalRow> {
  private static final int ADDRESS = 1;
  private static final int SEED = 42; // Spark's own
  private static final ClassTag<InternalRow> ROW = ClassTag$.MODULE$.apply(InternalRow.class);

  private final transient ShuffleExchangeExec shuffle;
  private final int tasks;
  private final int columns;
  private boolean decided;
  private Long stage;

  private LocalExchange(ShuffleExchangeExec shuffle) {
    super(shuffle.inputRDD().sparkContext(), seq(List.<Dependency<?>>of()), ROW);
    this.shuffle = shuffle;
    this.tasks = shuffle.outputPartitioning().numPartitions();
    this.columns = shuffle.output().size();
  }

  /** What {@code plan} gives, which a level reads. */
  static RDD<InternalRow> of(SparkPlan plan) {
    return plan instanceof ShuffleExchangeExec shuffle
            && !shuffle.pipelined()
            && isByAddress(shuffle)
            && StageSlots.of(shuffle.session().sparkContext())
                .fits(shuffle.outputPartitioning().numPartitions())
        ? new LocalExchange(shuffle)
        : plan.execute();
  }

  private static boolean isByAddress(ShuffleExchangeExec shuffle) {
    if (!(shuffle.outputPartitioning() instanceof HashPartitioning hashed)) {
      return false;
    }
    Expression by = hashed.expressions().head();
    return hashed.expressions().size() == 1
        && by instanceof Attribute column
        && column.exprId().equals(shuffle.output().apply(ADDRESS).exprId());
  }

  /** Of {@code tasks}, the one that Spark's shuffle gives a row to. */
  static int taskOf(UnsafeRow row, int tasks) {
    long field = row.getLong(ADDRESS);
    long start = row.getBaseOffset() + (field >>> 32);
    int hash = Murmur3_x86_32.hashUnsafeBytes(row.getBaseObject(), start, (int) field, SEED);
    return Math.floorMod(hash, tasks);
  }

  /** As the job is planned, by the thread that runs it. */
  private void decide() {
    if (!decided) {
      OneStage here = OneStage.here();
      stage = here != null && reading() <= tasks && here.takes(tasks) ? here.number() : null;
      decided = true;
    }
  }

  /** How many tasks could give the rows at once: of a source, perhaps more than take them. */
  private int reading() {
    return Math.min(shuffle.inputRDD().getNumPartitions(), StageSlots.of(sparkContext()).count());
  }

  private RDD<InternalRow> above() {
    return stage == null ? shuffle.execute() : shuffle.inputRDD();
  }

  @Override
  public Seq<Dependency<?>> getDependencies() {
    decide();
    return seq(List.<Dependency<?>>of(new Shares(above(), tasks)));
  }

  @Override
  public Partition[] getPartitions() {
    Partition[] above = dependencies().head().rdd().partitions();
    List<Partition> others = List.of(above).subList(Math.min(tasks, above.length), above.length);
    Partition[] ours = new Partition[tasks];
    for (int i = 0; i < tasks; i++) {
      ours[i] = new Share(i, i < above.length ? above[i] : null, others);
    }
    return ours;
  }

  @Override
  public Iterator<InternalRow> compute(Partition split, TaskContext task) {
    Share share = (Share) split;
    if (stage == null) {
      return firstParent(ROW).iterator(share.own, task);
    }
    OneStage here = OneStage.of(stage);
    task.addTaskFailureListener((TaskFailureListener) (each, error) -> here.breakOff());
    HandedRows handed = here.at(id(), columns);
    HandedRows.Leaving leaving = handed.from(share.index);
    for (Partition each = share.own; each != null; each = handed.next(share.others)) {
      Iterator<InternalRow> rows = firstParent(ROW).iterator(each, task);
      while (rows.hasNext()) {
        UnsafeRow row = (UnsafeRow) rows.next();
        leaving.add(row, taskOf(row, tasks));
      }
    }
    leaving.end();
    return handed.to(share.index, task);
  }

  private static <T> Seq<T> seq(List<T> elements) {
    return CollectionConverters.asScala(elements).toSeq();
  }

  /**
   * What one task reads: its own partition above, null where there are fewer than tasks; where there
   * are more, then of the others each that no task has begun with.
   */
  private record Share(int index, Partition own, List<Partition> others) implements Partition {
    Share {
      others = List.copyOf(others);
    }

    @Override
    public boolean equals(Object other) {
      return other instanceof Share share && share.index == index;
    }

    @Override
    public int hashCode() {
      return index;
    }
  }

  private static final class Shares extends NarrowDependency<InternalRow> {
    private final int above;
    private final int tasks;

    Shares(RDD<InternalRow> above, int tasks) {
      super(above);
      this.above = above.getNumPartitions();
      this.tasks = tasks;
    }

    @Override
    public Seq<Object> getParents(int task) {
      List<Object> read = new ArrayList<>(task < above ? List.of(task) : List.of());
      for (int i = tasks; i < above; i++) {
        read.add(i);
      }
      return seq(read);
    }
  }
}
