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
 * event through the first steps of its streams. Remembers the newest time that a task's changes of
 * a table have, and tells it in the end to all who wait for that.
 */
final class Entrance implements Ingress.Destination {
  private final Broadcast<Shipment> shipment;
  private final Workshop workshop;
  private final Ingress.Router router;
  private final List<Gate> gates = new ArrayList<>();
  private final List<Clock> clocks = new ArrayList<>();
  private byte[] file;
  private String topic;

  private Entrance(Broadcast<Shipment> shipment) {
    this.shipment = shipment;
    this.workshop = shipment.value().take();
    this.router = new Ingress.Router(workshop.program());
    workshop.program().relations().forEach(each -> gates.add(null));
    for (Program.EntryProgram entry : workshop.program().entries()) {
      gates.set(entry.relation(), new Gate(entry, workshop));
    }
    clocks.addAll(clocksOf(workshop));
  }

  /** Makes entrances for the program in {@code shipment}. */
  static Ingress.Destinations of(Broadcast<Shipment> shipment) {
    return () -> new Entrance(shipment);
  }

  static List<Clock> clocksOf(Workshop workshop) {
    List<Clock> clocks = new ArrayList<>();
    for (int i = 0; i < workshop.program().nodes().size(); i++) {
      if (workshop.program().nodes().get(i) instanceof Program.AsOfProgram asOf) {
        clocks.add(new Clock(listeners(workshop.program(), i), asOf, workshop));
      }
    }
    return clocks;
  }

  /** Who hears of the time of a lookup's table: the lookup, and the claim before it. */
  private static int[] listeners(Program program, int lookup) {
    return IntStream.range(0, program.nodes().size())
        .filter(
            each ->
                each == lookup
                    || (program.nodes().get(each) instanceof Program.ClaimProgram claim
                        && claim.target() == lookup))
        .toArray();
  }

  @Override
  public boolean insertsOnly(int relation) {
    return gates.get(relation) != null;
  }

  @Override
  public void at(byte[] newFile, String newTopic) {
    file = newFile;
    topic = newTopic;
  }

  @Override
  public void send(
      int relation, Ingress.Change change, Slice row, long timestamp, Outbox outbox) {
    Gate gate = gates.get(relation);
    if (gate == null) {
      for (Clock each : clocks) {
        each.hear(relation, change, row);
      }
      router.send(relation, change, row, timestamp, outbox);
    } else if (change.op() == ChangeSink.UPSERT) {
      gate.send(change, file, topic, row, timestamp, outbox);
    }
  }

  @Override
  public void close(Outbox outbox, long timestamp) {
    clocks.forEach(each -> each.tell(timestamp, outbox));
    workshop.counters().drainTo(outbox, timestamp);
    shipment.value().giveBack(workshop);
  }

  /** The newest time of one table's changes, for one lookup. */
  static final class Clock {
    private final int[] listeners;
    private final Program whole;
    private final Program.AsOfProgram program;
    private final RelationRows rows;
    private final UnsafeRow visible;
    private boolean heard;
    private long newest = Long.MIN_VALUE;

    private Clock(int[] listeners, Program.AsOfProgram program, Workshop workshop) {
      this.listeners = listeners;
      this.whole = workshop.program();
      this.program = program;
      this.rows = workshop.rows(program.relation());
      this.visible = new UnsafeRow(rows.visibleColumns());
    }

    void hear(int relation, Ingress.Change change, Slice row) {
      if (relation != program.relation()) {
        return;
      }
      heard = true;
      if (change.op() == ChangeSink.UPSERT) {
        Row.point(visible, rows.derived(row));
        if (!visible.isNullAt(program.validFrom())) {
          newest = Math.max(newest, visible.getLong(program.validFrom()));
        }
      }
    }

    void tell(long timestamp, Outbox outbox) {
      if (heard) {
        byte[] message = Message.watermark(timestamp, newest);
        for (int node : listeners) {
          for (int i = 0; i < whole.bucketsOf(node); i++) {
            outbox.send(node, Bucket.key(i), message);
          }
        }
      }
      heard = false;
    }
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

    Gate(Program.EntryProgram entry, Workshop workshop) {
      this.rows = workshop.rows(entry.relation());
      this.visible = new UnsafeRow(rows.visibleColumns());
      boolean keyed = workshop.program().relations().get(entry.relation()).key().length > 0;
      this.key = keyed ? workshop.keyProjection(entry.relation()) : null;
      this.onward = entry.onward().stream().map(each -> new Onward(each, workshop)).toList();
      this.placed = workshop.program().claims();
    }

    void send(
        Ingress.Change change,
        byte[] file,
        String topic,
        Slice row,
        long timestamp,
        Outbox outbox) {
      // The bytes belong to the decoder until the next record; what is sent is written by then.
      Slice seen = rows.view(row);
      if (seen == null) {
        return;
      }
      Slice identity = key == null ? placeOf(change, file, topic) : keyOf(seen);
      Event.Place at = placed ? new Event.Place(change.major(), change.minor()) : null;
      Event event = new Event(false, timestamp, timestamp, at, identity, seen);
      for (Onward each : onward) {
        each.send(event, NO_INPUTS, outbox);
      }
    }

    private Slice keyOf(Slice seen) {
      return Row.copy(key.apply(Row.point(visible, seen)));
    }

    /** {@code topic/partition/offset}, or {@code file/line}. */
    private Slice placeOf(Ingress.Change change, byte[] file, String topic) {
      String text =
          file == null
              ? topic + "/" + change.major() + "/" + change.minor()
              : new String(file, StandardCharsets.UTF_8) + "/" + change.minor();
      place.reset();
      place.zeroOutNullBytes();
      place.write(0, text.getBytes(StandardCharsets.UTF_8));
      return Row.copy(place.getRow());
    }
  }
}
