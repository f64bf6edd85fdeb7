package dev.joinery.kernel.stream;

import dev.joinery.kernel.bytes.BinaryRow;
import dev.joinery.kernel.bytes.KeyCodec;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.format.ChangeSink;
import dev.joinery.kernel.message.Change;
import dev.joinery.kernel.message.Marks;
import dev.joinery.kernel.message.Message;
import dev.joinery.kernel.message.Outbox;
import dev.joinery.kernel.node.NodeContext;
import dev.joinery.kernel.node.RelationRows;
import dev.joinery.kernel.program.Buckets;
import dev.joinery.kernel.program.Program;
import dev.joinery.kernel.program.StreamProgram;
import java.util.HashMap;
import java.util.Map;
import java.util.stream.IntStream;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;

/**
 * The way of a table's changes to one versioned lookup: remembers the newest time in what a task
 * reads of the table's log, says with each change what it was before, and in the end tells all who
 * wait for it.
 */
public final class LogClock {
  private final Program program;
  private final StreamProgram.AsOfProgram lookup;
  private final Program.Route route;
  private final Buckets buckets;
  private final int[] listeners;
  private final RelationRows rows;
  private final KeyCodec address;
  private final UnsafeRow decoded;
  private final UnsafeRow visible;
  private final Map<Long, Run> runs = new HashMap<>();

  /** What a task reads of one partition: where it begins, and the newest time so far. */
  private static final class Run {
    final long major;
    final long minor;
    long newest = Marks.UNKNOWN;

    Run(long major, long minor) {
      this.major = major;
      this.minor = minor;
    }
  }

  public LogClock(int node, NodeContext context) {
    this.program = context.program();
    this.lookup = (StreamProgram.AsOfProgram) program.nodes().get(node);
    this.route =
        program.routes().stream().filter(each -> each.node() == node).findFirst().orElseThrow();
    this.buckets = program.buckets().get(node);
    this.listeners = IntStream.range(0, program.nodes().size()).filter(this::listens).toArray();
    this.rows = context.rows(lookup.relation());
    Program.RelationProgram relation = program.relations().get(lookup.relation());
    this.address = route.address().codec(relation.columns());
    this.decoded = new UnsafeRow(relation.columns().size());
    this.visible = new UnsafeRow(rows.visibleColumns());
  }

  /** Who hears of the time of a lookup's table: the lookup, and the claim before it. */
  private boolean listens(int node) {
    return node == route.node()
        || (program.nodes().get(node) instanceof StreamProgram.ClaimProgram claim
            && claim.target() == route.node());
  }

  public int relation() {
    return lookup.relation();
  }

  /**
   * Sends a change to the lookup.
   *
   * @param partition of the log that the change stands in; {@link Marks#UNORDERED} for none
   * @param latest the newest time that moves the watermark
   */
  public void send(
      Change change, long partition, long latest, Slice row, long timestamp, Outbox outbox) {
    Run run =
        runs.computeIfAbsent(partition, each -> new Run(change.major(), change.minor()));
    long before = partition == Marks.UNORDERED ? Marks.UNKNOWN : run.newest;
    if (change.op() == ChangeSink.UPSERT) {
      BinaryRow.point(visible, rows.derived(row));
      if (!visible.isNullAt(lookup.validFrom()) && visible.getLong(lookup.validFrom()) <= latest) {
        run.newest = Math.max(run.newest, visible.getLong(lookup.validFrom()));
      }
    }
    byte[] key = buckets.of(address.encode(BinaryRow.point(decoded, row)));
    outbox.send(
        route.node(), key, Message.version(timestamp, partition, before, route, change, row));
  }

  /**
   * Tells how far a task has come. Of a table that may be idle each task that read anything tells,
   * so that all who wait for it begin to count at the same batch.
   */
  public void tell(long timestamp, Outbox outbox) {
    if (runs.isEmpty() && lookup.idleMicros() < 0) {
      return;
    }
    Marks marks = new Marks();
    runs.forEach((partition, run) -> marks.add(partition, run.major, run.minor, run.newest));
    byte[] message = Message.watermark(timestamp, marks);
    for (int node : listeners) {
      for (byte[] bucket : program.buckets().get(node).keys()) {
        outbox.send(node, bucket, message);
      }
    }
    runs.clear();
  }
}
