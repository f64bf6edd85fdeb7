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
import java.util.Objects;
import java.util.stream.IntStream;
import org.apache.spark.sql.internal.SQLConf;
import scala.Option;

/** The way to what tells a node of deadlines: tells it how far the log of its relation has come. */
public abstract sealed class Deadlines {
  private final int node;
  private final Program.DeadlineProgram program;

  private Deadlines(int node, Program.DeadlineProgram program) {
    this.node = node;
    this.program = program;
  }

  /** The ways to all of a program. */
  public static List<Deadlines> all(Program program) {
    return IntStream.range(0, program.nodes().size())
        .mapToObj(each -> of(each, program))
        .filter(Objects::nonNull)
        .toList();
  }

  private static Deadlines of(int node, Program program) {
    Program.NodeProgram found = program.nodes().get(node);
    if (found instanceof Program.ClosingProgram closing) {
      return new Before(node, closing, program);
    }
    return found instanceof Program.DeadlinesProgram deadlines ? new Beside(node, deadlines) : null;
  }

  /** The way to the one before a node; null where the node sends as soon as it can. */
  static Deadlines before(int target, Program program) {
    return all(program).stream()
        .filter(each -> each.program.target() == target)
        .findFirst()
        .orElse(null);
  }

  /** The ways to all of a node, none of which asks another. */
  static List<Deadlines> allOf(int target, Program program) {
    return all(program).stream().filter(each -> each.program.target() == target).toList();
  }

  /** The node that tells what has come. */
  int node() {
    return node;
  }

  /** Whose log tells the time. */
  public int relation() {
    return program.relation();
  }

  /** How long after its end something is closed. */
  long allowedMicros() {
    return program.allowedMicros();
  }

  /** When something is closed whose time ends at one, in microseconds. */
  long of(long end) {
    return end + program.allowedMicros();
  }

  /**
   * Tells of a message to the node.
   *
   * @param key of the node's address
   * @param end of the time that the address is about, in microseconds
   */
  abstract void send(byte[] key, long end, long timestamp, Outbox outbox);

  /**
   * Tells how far a task has come.
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

  /** Tells that whatever waits is to wait no more. */
  public void end(long timestamp, Outbox outbox) {
    tellAll(Message.ended(timestamp), outbox);
  }

  abstract void tellAll(byte[] message, Outbox outbox);

  /** To a {@link Closing} before the node, which is told deadlines, in all its buckets. */
  static final class Before extends Deadlines {
    private final Buckets buckets;
    private final boolean slides;

    private Before(int node, Program.ClosingProgram closing, Program program) {
      super(node, closing);
      this.buckets = program.buckets().get(node);
      this.slides =
          program.nodes().get(closing.target()) instanceof GroupProgram group
              && group.sliding() != null;
    }

    @Override
    void send(byte[] key, long end, long timestamp, Outbox outbox) {
      outbox.send(node(), buckets.of(key), Message.deadline(timestamp, of(end), key));
    }

    /** But not where it goes on with the watermark, which stays. */
    @Override
    public void end(long timestamp, Outbox outbox) {
      if (!slides) {
        super.end(timestamp, outbox);
      }
    }

    @Override
    void tellAll(byte[] message, Outbox outbox) {
      for (byte[] bucket : buckets.keys()) {
        outbox.send(node(), bucket, message);
      }
    }
  }

  /** To the level of the node, which knows its deadlines itself, in all its tasks. */
  static final class Beside extends Deadlines {
    private Beside(int node, Program.DeadlinesProgram program) {
      super(node, program);
    }

    @Override
    void send(byte[] key, long end, long timestamp, Outbox outbox) {}

    @Override
    void tellAll(byte[] message, Outbox outbox) {
      int partitions = partitions();
      for (int partition = partitions - 1; partition >= 0; partition--) {
        outbox.pass(message, Address.ofPartition(node(), partition, partitions));
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
}
