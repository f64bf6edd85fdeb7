package dev.joinery.kernel.chain;

import dev.joinery.kernel.bytes.Address;
import dev.joinery.kernel.message.Marks;
import dev.joinery.kernel.message.Message;
import dev.joinery.kernel.node.BatchWatermarks;
import dev.joinery.kernel.node.NewestTimes;
import dev.joinery.kernel.program.Program;
import dev.joinery.kernel.state.Expiry;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.BiConsumer;
import org.apache.spark.TaskContext;

/**
 * What the Folds of a level wait for, in one task: remembers, of each log that they wait for,
 * which address waits for which deadline; tells it once the watermark has come to it.
 *
 * <p>How far the log has come is known once all messages of the task are: what the batches before
 * had, as the driver tells it, and what the tasks of this one read, which each of them tells all
 * tasks of the level. At the end of all logs whatever waits is told.
 *
 * <p>A deadline stands as a note beside the state of its address, so it goes where that does when
 * there are other partitions.
 */
final class LevelDeadlines {
  /** Opens the notes that stand under a number; of a wait of so many microseconds. */
  interface Opening {
    Expiry open(int number, long micros);
  }

  private final Program program;
  private final Map<Integer, Awaited> byNode = new TreeMap<>();

  LevelDeadlines(Program program, int level, Opening opening) {
    this.program = program;
    for (int node = 0; node < program.nodes().size(); node++) {
      if (program.nodes().get(node) instanceof Program.DeadlinesProgram deadlines
          && deadlines.level() == level) {
        Expiry notes = opening.open(Address.DEADLINES - node, deadlines.allowedMicros());
        byNode.put(node, new Awaited(node, deadlines, notes));
      }
    }
  }

  /** Whether messages to a node are for it. */
  boolean isOf(int node) {
    return !byNode.isEmpty() && byNode.containsKey(node);
  }

  /**
   * Takes what a task tells of the log.
   *
   * @throws IllegalStateException where it told another number of tasks than there are, so that
   *     some may not have heard of it
   */
  void hear(byte[] address, byte[] message) {
    int told = Address.partitionsOf(address);
    int tasks = TaskContext.get().numPartitions();
    if (told != tasks) {
      throw new IllegalStateException(
          "how far a log has come was told to " + told + " tasks of a level that has " + tasks);
    }
    byNode.get(Address.nodeOf(address)).hear(message);
  }

  /**
   * Tells addresses whose deadlines have come; called once, when all has been heard.
   *
   * @param telling takes messages and their addresses
   */
  void tellDue(BiConsumer<byte[], byte[]> telling) {
    byNode.values().forEach(each -> each.tellDue(telling));
  }

  /** Whether the watermark has come to a time. */
  boolean hasPassed(int node, long time) {
    return time <= byNode.get(node).watermark;
  }

  /** Whether a time has come; an address for which it has not is told once it has. */
  boolean hasCome(int node, long time, byte[] address) {
    return byNode.get(node).hasCome(time, address);
  }

  /** Writes what waits. */
  void write() {
    byNode.values().forEach(each -> each.notes.write());
  }

  /** What is waited for by the log of one relation. */
  private final class Awaited {
    private final int node;
    private final long delayMicros;
    private final Expiry notes;
    private final Map<Long, Long> newest;
    private long watermark;
    private long timestamp = Marks.UNKNOWN;
    private boolean ended;

    Awaited(int node, Program.DeadlinesProgram deadlines, Expiry notes) {
      this.node = node;
      this.delayMicros = deadlines.delayMicros();
      this.notes = notes;
      String relation = program.relations().get(deadlines.relation()).name();
      this.watermark = BatchWatermarks.here().of(relation);
      this.newest = NewestTimes.here().of(relation);
    }

    void hear(byte[] message) {
      timestamp = Math.max(timestamp, Message.timestamp(message));
      switch (Message.kind(message)) {
        case Message.WATERMARK -> {
          Marks marks = new Marks();
          marks.read(Message.body(message));
          marks.newest().forEach((partition, time) -> newest.merge(partition, time, Math::max));
        }
        case Message.ENDED -> ended = true;
        default -> throw Message.unexpected(message);
      }
    }

    /** Nothing comes due in a batch in which nothing was told of the log. */
    void tellDue(BiConsumer<byte[], byte[]> telling) {
      newest.values().stream()
          .mapToLong(Long::longValue)
          .min()
          .ifPresent(least -> watermark = Math.max(watermark, least - delayMicros));
      if (timestamp == Marks.UNKNOWN) {
        return;
      }
      notes.takeUpTo(
          ended ? Long.MAX_VALUE : watermark,
          (address, entry) ->
              telling.accept(
                  Message.closed(timestamp, watermark, Expiry.timeIn(entry), node), address));
    }

    boolean hasCome(long time, byte[] address) {
      if (ended || time <= watermark) {
        return true;
      }
      notes.noteTime(address, time, watermark);
      return false;
    }
  }
}
