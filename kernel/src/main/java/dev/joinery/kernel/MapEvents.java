package dev.joinery.kernel;

import java.util.Iterator;
import java.util.List;
import org.apache.spark.api.java.function.MapPartitionsFunction;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.sql.Row;
import scala.Tuple2;

/**
 * Sends the events of one node on with the columns that a user's function gave them; passes all
 * else. Remembers nothing.
 */
final class MapEvents implements MapPartitionsFunction<Row, Tuple2<byte[], byte[]>> {
  static final String REASON = "map_failed";
  private static final Object[] NO_INPUTS = {};

  private final Broadcast<Shipment> shipment;
  private final int node;

  /** Rows have columns message, address, row and error. */
  MapEvents(Broadcast<Shipment> shipment, int node) {
    this.shipment = shipment;
    this.node = node;
  }

  @Override
  public Iterator<Tuple2<byte[], byte[]>> call(Iterator<Row> rows) {
    Outbox outbox = new Outbox();
    Sender sender = new Sender(shipment.value().take(), outbox);
    outbox.later(new RowByRow<>(rows, sender::take, sender::close));
    return outbox;
  }

  private final class Sender {
    private final Workshop workshop;
    private final Outbox outbox;
    private final Program.MapProgram program;
    private final List<Onward> onward;
    private final EventLetter letters;
    private long timestamp;

    Sender(Workshop workshop, Outbox outbox) {
      this.workshop = workshop;
      this.outbox = outbox;
      this.program = (Program.MapProgram) workshop.program().nodes().get(node);
      this.onward = program.onward().stream().map(each -> new Onward(each, workshop)).toList();
      this.letters = new EventLetter(program.owner(), program.key(), program.event());
    }

    void take(Row row) {
      byte[] message = (byte[]) row.get(0);
      byte[] address = (byte[]) row.get(1);
      if (Outbox.nodeOf(address) != node) {
        outbox.pass(message, address);
        return;
      }
      Event event = Event.read(message);
      timestamp = event.timestamp();
      if (!row.isNullAt(3)) {
        outbox.emit(letters.of(event, REASON, row.getString(3)));
      }
      if (!row.isNullAt(2)) {
        Event made = event.carrying(Slice.of((byte[]) row.get(2)));
        onward.forEach(next -> next.send(made, NO_INPUTS, outbox));
      } else if (row.isNullAt(3)) {
        workshop.counters().product(program.owner(), "events_dropped", 1);
      }
    }

    void close() {
      workshop.counters().drainTo(outbox, timestamp);
      shipment.value().giveBack(workshop);
    }
  }
}
