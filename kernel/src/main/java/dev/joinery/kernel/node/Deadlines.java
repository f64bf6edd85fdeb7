package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.Address;
import dev.joinery.kernel.message.Marks;
import dev.joinery.kernel.message.Message;
import dev.joinery.kernel.message.Outbox;
import dev.joinery.kernel.program.Buckets;
import dev.joinery.kernel.program.GroupProgram;
import dev.joinery.kernel.program.Program;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.apache.spark.sql.internal.SQLConf;
import scala.Option;

/**
 * The way to one {@link Closing}: tells it deadlines, and how far the log of its relation has come.
 * Where it stands beside its node, that node knows its deadlines, and all tasks of the level are told
 * of the log.
 */
public final class Deadlines {
  private final int node;
  private final Program.ClosingProgram program;
  private final Buckets buckets;
  private final boolean slides;

  private Deadlines(int node, Program program) {
    this.node = node;
    this.program = (Program.ClosingProgram) program.nodes().get(node);
    this.buckets = program.buckets().get(node);
    this.slides =
        program.nodes().get(this.program.target()) instanceof GroupProgram group
            && group.sliding() != null;
  }

  /** The ways to all of a program. */
  public static List<Deadlines> all(Program program) {
    return IntStream.range(0, program.nodes().size())
        .filter(each -> program.nodes().get(each) instanceof Program.ClosingProgram)
        .mapToObj(each -> new Deadlines(each, program))
        .toList();
  }

  /** The way to the one before a node; null where the node sends as soon as it can. */
  static Deadlines before(int target, Program program) {
    return all(program).stream()
        .filter(each -> each.program.target() == target)
        .findFirst()
        .orElse(null);
  }

  /** The ways to all before a node, none of which asks another. */
  static List<Deadlines> allBefore(int target, Program program) {
    return all(program).stream().filter(each -> each.program.target() == target).toList();
  }

  /** The node that tells what has come. */
  int node() {
    return node;
  }

  /** Whether the node behind keeps its deadlines itself. */
  boolean isBeside() {
    return program.isBeside();
  }

  /** Whose log tells the time. */
  public int relation() {
    return program.relation();
  }

  /** How long after its end something is closed. */
  long allowedMicros() {
    return program.allowedMicros();
  }

  /**
   * Tells of a message to the node behind.
   *
   * @param key of the node's address
   * @param end of the time that the address is about, in microseconds
   */
  void send(byte[] key, long end, long timestamp, Outbox outbox) {
    if (isBeside()) {
      return;
    }
    outbox.send(node, buckets.of(key), Message.deadline(timestamp, of(end), key));
  }

  /** When something is closed whose time ends at one, in microseconds. */
  long of(long end) {
    return end + program.allowedMicros();
  }

  /**
   * Tells all buckets, or all tasks of the level, how far a task has come.
   *
   * @param newest the newest time by partition of the log, of those that it read
   */
  public void tell(Map<Long, Long> newest, long timestamp, Outbox outbox) {
    if (newest.isEmpty()) {
      return;
    }
    Marks marks = new Marks();
    newest.forEach((partition, time) -> marks.add(partition, 0, 0, time));
    tellAll(Message.watermark(timestamp, marks), outbox);
  }

  /**
   * Tells all buckets that whatever waits is to wait no more; but not where it goes on with the
   * watermark, which stays.
   */
  public void end(long timestamp, Outbox outbox) {
    if (slides) {
      return;
    }
    tellAll(Message.ended(timestamp), outbox);
  }

  private void tellAll(byte[] message, Outbox outbox) {
    if (isBeside()) {
      int partitions = partitions();
      for (int partition = partitions - 1; partition >= 0; partition--) {
        outbox.pass(message, Address.ofPartition(node, partition, partitions));
      }
      return;
    }
    for (byte[] bucket : buckets.keys()) {
      outbox.send(node, bucket, message);
    }
  }

  /** How many there are of a level, as Spark tells each task of the query; those there check it. */
  private static int partitions() {
    SQLConf settings = SQLConf.get();
    Option<Object> ofState = settings.getConf(SQLConf.STATEFUL_SHUFFLE_PARTITIONS_INTERNAL());
    return ofState.isDefined()
        ? (Integer) ofState.get()
        : settings.defaultNumShufflePartitions();
  }
}
