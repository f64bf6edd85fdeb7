package dev.joinery.kernel.ingress;

import dev.joinery.kernel.bytes.BinaryRow;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.chain.Nodes;
import dev.joinery.kernel.chain.SharedProgram;
import dev.joinery.kernel.format.ChangeSink;
import dev.joinery.kernel.message.Change;
import dev.joinery.kernel.message.Event;
import dev.joinery.kernel.message.Outbox;
import dev.joinery.kernel.node.Assembler;
import dev.joinery.kernel.node.NodeContext;
import dev.joinery.kernel.node.RelationRows;
import dev.joinery.kernel.program.Program;
import dev.joinery.kernel.stream.LogClock;
import dev.joinery.kernel.stream.Onward;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;

/**
 * Where the decoded changes of streams go: those of a table to the nodes that remember it, each
 * event through the first steps of its streams.
 */
public final class Entrance implements Ingress.Destination {
  private final Broadcast<SharedProgram> shared;
  private final Nodes nodes;
  private final Ingress.Router router;
  private final List<Gate> gates = new ArrayList<>();
  private final List<LogClock> clocks;
  private final Ingress.Origin origin;

  private Entrance(Broadcast<SharedProgram> shared, Ingress.Origin origin) {
    this.shared = shared;
    this.origin = origin;
    this.nodes = shared.value().take();
    NodeContext context = nodes.context();
    this.router = new Ingress.Router(context.program());
    context.program().relations().forEach(each -> gates.add(null));
    for (Program.EntryProgram entry : context.program().entries()) {
      gates.set(entry.relation(), new Gate(entry, context, origin));
    }
    clocks = clocksOf(context);
  }

  /** Makes entrances for the program in {@code shared}. */
  public static Ingress.Destinations of(Broadcast<SharedProgram> shared) {
    return origin -> new Entrance(shared, origin);
  }

  public static List<LogClock> clocksOf(NodeContext context) {
    return IntStream.range(0, context.program().nodes().size())
        .filter(each -> context.program().nodes().get(each) instanceof Program.AsOfProgram)
        .mapToObj(each -> new LogClock(each, context))
        .toList();
  }

  @Override
  public boolean insertsOnly(int relation) {
    return gates.get(relation) != null;
  }

  @Override
  public void send(
      int relation, Change change, Slice row, long timestamp, Outbox outbox) {
    Gate gate = gates.get(relation);
    if (gate == null) {
      for (LogClock each : clocks) {
        if (each.relation() == relation) {
          each.send(change, origin.partitionOf(change), row, timestamp, outbox);
        }
      }
      router.send(relation, change, row, timestamp, outbox);
    } else if (change.op() == ChangeSink.UPSERT) {
      gate.send(change, row, timestamp, outbox);
    }
  }

  @Override
  public void close(Outbox outbox, long timestamp) {
    if (timestamp > 0) { // A task that read nothing knows no time.
      clocks.forEach(each -> each.tell(timestamp, outbox));
    }
    nodes.counters().drainTo(outbox, timestamp);
    shared.value().giveBack(nodes);
  }

  /** The events of one relation. */
  public static final class Gate {
    private final RelationRows rows;
    private final UnsafeRow visible;
    private final UnsafeProjection key;
    private final UnsafeRowWriter place = new UnsafeRowWriter(1, 64);
    private final List<Onward> onward;
    private final boolean placed;
    private final int log;
    private final Ingress.Origin origin;

    public Gate(Program.EntryProgram entry, NodeContext context, Ingress.Origin origin) {
      this.rows = context.rows(entry.relation());
      this.visible = new UnsafeRow(rows.visibleColumns());
      boolean keyed = context.program().relations().get(entry.relation()).key().length > 0;
      this.key = keyed ? context.keyProjection(entry.relation()) : null;
      this.onward = entry.onward().stream().map(each -> new Onward(each, context)).toList();
      this.placed = keyed || onward.size() > 1;
      this.log = context.program().logOf(entry);
      this.origin = origin;
    }

    public void send(Change change, Slice row, long timestamp, Outbox outbox) {
      // The bytes belong to the decoder until the next record; what is sent is written by then.
      Slice seen = rows.view(row);
      if (seen == null) {
        return;
      }
      Slice identity = key == null ? textOfPlace() : keyOf(seen);
      Event.Place at = placed ? placeOf(change) : null;
      Event event = new Event(false, false, timestamp, timestamp, at, identity, seen);
      for (Onward each : onward) {
        each.send(event, Assembler.NO_INPUTS, outbox);
      }
    }

    private Event.Place placeOf(Change change) {
      return new Event.Place(true, log, change.major(), change.minor());
    }

    private Slice keyOf(Slice seen) {
      return BinaryRow.copy(key.apply(BinaryRow.point(visible, seen)));
    }

    /** {@code topic/partition/offset}, or {@code topic/file/line}. */
    private Slice textOfPlace() {
      String text = origin.place();
      place.reset();
      place.zeroOutNullBytes();
      place.write(0, text.getBytes(StandardCharsets.UTF_8));
      return BinaryRow.copy(place.getRow());
    }
  }
}
