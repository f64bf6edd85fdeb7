package dev.joinery.kernel;

import dev.joinery.kernel.format.ChangeSink;
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
final class Entrance implements Ingress.Destination {
  private final Broadcast<Shipment> shipment;
  private final Workshop workshop;
  private final Ingress.Router router;
  private final List<Gate> gates = new ArrayList<>();
  private final List<LogClock> clocks;
  private final Ingress.Origin origin;

  private Entrance(Broadcast<Shipment> shipment, Ingress.Origin origin) {
    this.shipment = shipment;
    this.origin = origin;
    this.workshop = shipment.value().take();
    this.router = new Ingress.Router(workshop.program());
    workshop.program().relations().forEach(each -> gates.add(null));
    for (Program.EntryProgram entry : workshop.program().entries()) {
      gates.set(entry.relation(), new Gate(entry, workshop, origin));
    }
    clocks = clocksOf(workshop);
  }

  /** Makes entrances for the program in {@code shipment}. */
  static Ingress.Destinations of(Broadcast<Shipment> shipment) {
    return origin -> new Entrance(shipment, origin);
  }

  static List<LogClock> clocksOf(Workshop workshop) {
    return IntStream.range(0, workshop.program().nodes().size())
        .filter(each -> workshop.program().nodes().get(each) instanceof Program.AsOfProgram)
        .mapToObj(each -> new LogClock(each, workshop))
        .toList();
  }

  @Override
  public boolean insertsOnly(int relation) {
    return gates.get(relation) != null;
  }

  @Override
  public void send(
      int relation, Ingress.Change change, Slice row, long timestamp, Outbox outbox) {
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
    workshop.counters().drainTo(outbox, timestamp);
    shipment.value().giveBack(workshop);
  }

  /** The events of one relation. */
  static final class Gate {
    private static final Object[] NO_INPUTS = {};
    private final RelationRows rows;
    private final UnsafeRow visible;
    private final UnsafeProjection key;
    private final UnsafeRowWriter place = new UnsafeRowWriter(1, 64);
    private final List<Onward> onward;
    private final boolean placed;
    private final int log;
    private final Ingress.Origin origin;

    Gate(Program.EntryProgram entry, Workshop workshop, Ingress.Origin origin) {
      this.rows = workshop.rows(entry.relation());
      this.visible = new UnsafeRow(rows.visibleColumns());
      boolean keyed = workshop.program().relations().get(entry.relation()).key().length > 0;
      this.key = keyed ? workshop.keyProjection(entry.relation()) : null;
      this.onward = entry.onward().stream().map(each -> new Onward(each, workshop)).toList();
      this.placed = keyed || onward.size() > 1;
      this.log = workshop.program().logOf(entry);
      this.origin = origin;
    }

    void send(Ingress.Change change, Slice row, long timestamp, Outbox outbox) {
      // The bytes belong to the decoder until the next record; what is sent is written by then.
      Slice seen = rows.view(row);
      if (seen == null) {
        return;
      }
      Slice identity = key == null ? textOfPlace() : keyOf(seen);
      Event.Place at = placed ? placeOf(change) : null;
      Event event = new Event(false, false, timestamp, timestamp, at, identity, seen);
      for (Onward each : onward) {
        each.send(event, NO_INPUTS, outbox);
      }
    }

    private Event.Place placeOf(Ingress.Change change) {
      return new Event.Place(true, log, change.major(), change.minor());
    }

    private Slice keyOf(Slice seen) {
      return Row.copy(key.apply(Row.point(visible, seen)));
    }

    /** {@code topic/partition/offset}, or {@code topic/file/line}. */
    private Slice textOfPlace() {
      String text = origin.place();
      place.reset();
      place.zeroOutNullBytes();
      place.write(0, text.getBytes(StandardCharsets.UTF_8));
      return Row.copy(place.getRow());
    }
  }
}
