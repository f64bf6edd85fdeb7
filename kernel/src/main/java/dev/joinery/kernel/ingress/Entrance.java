package dev.joinery.kernel.ingress;

import dev.joinery.kernel.bytes.BinaryRow;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.chain.Nodes;
import dev.joinery.kernel.chain.SharedProgram;
import dev.joinery.kernel.format.ChangeSink;
import dev.joinery.kernel.message.Change;
import dev.joinery.kernel.message.Event;
import dev.joinery.kernel.message.Marks;
import dev.joinery.kernel.message.Outbox;
import dev.joinery.kernel.node.Assembler;
import dev.joinery.kernel.node.Deadlines;
import dev.joinery.kernel.node.EventGate;
import dev.joinery.kernel.node.Inserting;
import dev.joinery.kernel.node.Lateness;
import dev.joinery.kernel.node.NodeContext;
import dev.joinery.kernel.node.RelationRows;
import dev.joinery.kernel.node.RowWay;
import dev.joinery.kernel.program.EventFoldProgram;
import dev.joinery.kernel.program.GroupProgram;
import dev.joinery.kernel.program.Program;
import dev.joinery.kernel.program.StreamProgram;
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
 * Where the decoded changes of streams and of logs go: those of a table to the nodes that remember
 * it, each event through the first steps of its streams, each row of a log to its groups, to the
 * states that it is about and to the documents that hold it.
 */
public final class Entrance implements Ingress.Destination {
  private final Broadcast<SharedProgram> shared;
  private final Nodes nodes;
  private final Ingress.Router router;
  private final List<Gate> gates = new ArrayList<>();
  private final List<LogClock> clocks;
  private final List<RowWay> groupings;
  private final List<EventGate> folded;
  private final List<Inserting> inserting;
  private final List<Deadlines> deadlines;
  private final List<Boolean> grouped = new ArrayList<>();
  private final boolean summing;
  private final Ingress.Origin origin;

  private Entrance(Broadcast<SharedProgram> shared, Ingress.Origin origin, boolean summing) {
    this.shared = shared;
    this.summing = summing;
    this.origin = origin;
    this.nodes = shared.value().take();
    NodeContext context = nodes.context();
    this.router = new Ingress.Router(context.program());
    context.program().relations().forEach(each -> gates.add(null));
    for (StreamProgram.EntryProgram entry : context.program().entries()) {
      gates.set(entry.relation(), new Gate(entry, context, origin));
    }
    clocks = clocksOf(context);
    groupings = groupingsOf(context);
    folded = foldedOf(context);
    inserting = insertingOf(context);
    deadlines = Deadlines.all(context.program());
    for (int i = 0; i < context.program().relations().size(); i++) {
      int relation = i;
      grouped.add(
          groupings.stream().anyMatch(each -> each.relation() == relation)
              || folded.stream().anyMatch(each -> each.relation() == relation)
              || inserting.stream().anyMatch(each -> each.relation() == relation));
    }
  }

  /** Makes entrances for the program in {@code shared}. */
  public static Ingress.Destinations of(Broadcast<SharedProgram> shared) {
    return origin -> new Entrance(shared, origin, true);
  }

  /** The same for tasks that run for minutes, which add up no more than a row. */
  public static Ingress.Destinations unending(Broadcast<SharedProgram> shared) {
    return origin -> new Entrance(shared, origin, false);
  }

  /** Whether a program's changes have another way than a {@link Ingress.Router}'s. */
  public static boolean isNeeded(Program program) {
    return !program.entries().isEmpty()
        || !Deadlines.all(program).isEmpty()
        || program.nodes().stream().anyMatch(Program.InsertsProgram.class::isInstance)
        || program.routes().stream().anyMatch(each -> isGroup(program, each))
        || program.routes().stream().anyMatch(each -> isFolded(program, each));
  }

  private static boolean isGroup(Program program, Program.Route route) {
    return RowWay.leadsTo(program.nodes().get(route.node()));
  }

  private static boolean isFolded(Program program, Program.Route route) {
    return program.nodes().get(route.node()) instanceof EventFoldProgram;
  }

  private static List<EventGate> foldedOf(NodeContext context) {
    Program program = context.program();
    return program.routes().stream()
        .filter(each -> isFolded(program, each))
        .map(each -> new EventGate(each.node(), context))
        .toList();
  }

  private static List<Inserting> insertingOf(NodeContext context) {
    return context.program().nodes().stream()
        .filter(Program.InsertsProgram.class::isInstance)
        .map(each -> new Inserting((Program.InsertsProgram) each, context))
        .toList();
  }

  private static List<RowWay> groupingsOf(NodeContext context) {
    Program program = context.program();
    return program.routes().stream()
        .filter(each -> isGroup(program, each))
        .map(each -> RowWay.to(each.node(), context))
        .toList();
  }

  public static List<LogClock> clocksOf(NodeContext context) {
    return IntStream.range(0, context.program().nodes().size())
        .filter(each -> context.program().nodes().get(each) instanceof StreamProgram.AsOfProgram)
        .mapToObj(each -> new LogClock(each, context))
        .toList();
  }

  @Override
  public RelationRows rows(int relation) {
    return nodes.context().rows(relation);
  }

  @Override
  public void send(
      int relation, Change change, Slice row, long timestamp, Outbox outbox) {
    if (grouped.get(relation) && change.op() == ChangeSink.UPSERT) {
      group(relation, change, row, timestamp, outbox);
    }
    Gate gate = gates.get(relation);
    if (gate == null) {
      for (LogClock each : clocks) {
        if (each.relation() == relation) {
          long partition = origin.partitionOf(change);
          each.send(change, partition, origin.latest(), row, timestamp, outbox);
        }
      }
      router.send(relation, change, row, timestamp, outbox);
    } else if (change.op() == ChangeSink.UPSERT) {
      gate.send(change, row, timestamp, outbox);
    }
  }

  private void group(int relation, Change change, Slice row, long timestamp, Outbox outbox) {
    RelationRows rows = nodes.context().rows(relation);
    Slice seen = rows.view(row);
    if (seen != null) {
      for (EventGate each : folded) {
        if (each.relation() == relation) {
          each.send(change, seen, timestamp, outbox);
        }
      }
    }
    for (Inserting each : inserting) {
      if (each.relation() == relation) {
        each.send(change, row, seen, timestamp, outbox);
      }
    }
    for (RowWay each : groupings) {
      if (each.relation() == relation
          && !isLeftOut(each, change, rows.derived(row), timestamp, outbox)
          && seen != null) {
        Slice place = each.needsPlace() ? placeOf(change) : Slice.EMPTY;
        if (each.take(null, seen, place, watermarkOf(each, change), timestamp, outbox)) {
          each.lateness().countTooLate();
        }
        if (!summing) {
          each.sendTo(timestamp, outbox);
        }
      }
    }
  }

  /** The place of a change in its log, as bytes in the order of the places. */
  private static Slice placeOf(Change change) {
    ByteWriter out = new ByteWriter(2 * Long.BYTES);
    out.writeLong(change.major() ^ Long.MIN_VALUE).writeLong(change.minor() ^ Long.MIN_VALUE);
    return Slice.of(out.toBytes());
  }

  /** By which windows are forgotten for the row at hand. */
  private long watermarkOf(RowWay product, Change change) {
    GroupProgram.LateProgram late = product.late();
    return late == null || change.snapshot()
        ? Marks.UNKNOWN
        : late.watermark(change.newest(), origin.reached().watermark());
  }

  /** Counts a row that is late for a product; returns whether it is as if not in the log. */
  private boolean isLeftOut(
      RowWay product, Change change, Slice row, long timestamp, Outbox outbox) {
    Lateness lateness = product.lateness();
    if (lateness == null || !lateness.isTimed(row) || change.snapshot()) {
      return false;
    }
    return lateness.leavesOut(
        origin.time(),
        change.newest(),
        origin.reached(),
        (reason, detail) ->
            outbox.emit(
                origin
                    .letter(reason, detail)
                    .put("product", product.product())
                    .toMessage(timestamp)));
  }

  @Override
  public void close(Outbox outbox, long timestamp) {
    groupings.forEach(each -> each.sendTo(timestamp, outbox));
    if (timestamp > 0) { // A task that read nothing knows no time.
      clocks.forEach(each -> each.tell(timestamp, outbox));
    }
    for (Deadlines each : deadlines) {
      each.tell(origin.newest(each.relation()), timestamp, outbox);
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

    public Gate(StreamProgram.EntryProgram entry, NodeContext context, Ingress.Origin origin) {
      this.rows = context.rows(entry.relation());
      this.visible = new UnsafeRow(rows.visibleColumns());
      boolean keyed = context.program().relations().get(entry.relation()).key().length > 0;
      this.key = keyed ? context.keyProjection(entry.relation()) : null;
      this.onward = entry.onward().stream().map(each -> new Onward(each, context)).toList();
      boolean ordered =
          context.program().nodes().stream().anyMatch(StreamProgram.SeenProgram.class::isInstance);
      this.placed = keyed || ordered || onward.size() > 1;
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
