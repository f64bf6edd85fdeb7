package dev.joinery.kernel;

import java.util.Iterator;
import java.util.List;
import org.apache.spark.api.java.function.MapPartitionsFunction;
import org.apache.spark.broadcast.Broadcast;
import scala.Tuple2;

/**
 * Sends the events of one lookup on with what a store said of their keys; passes all else.
 * Remembers nothing.
 */
final class AskedEvents
    implements MapPartitionsFunction<Tuple2<byte[], byte[]>, Tuple2<byte[], byte[]>> {
  static final String REASON = "lookup_unfit";

  private final Broadcast<Shipment> shipment;
  private final Broadcast<Answers> answers;
  private final int node;

  AskedEvents(Broadcast<Shipment> shipment, Broadcast<Answers> answers, int node) {
    this.shipment = shipment;
    this.answers = answers;
    this.node = node;
  }

  @Override
  public Iterator<Tuple2<byte[], byte[]>> call(Iterator<Tuple2<byte[], byte[]>> rows) {
    Outbox outbox = new Outbox();
    Sender sender = new Sender(shipment.value().take(), outbox);
    outbox.later(new RowByRow<>(rows, row -> sender.take(row._1(), row._2()), sender::close));
    return outbox;
  }

  private final class Sender {
    private final Workshop workshop;
    private final Outbox outbox;
    private final EventLetter letters;
    private long timestamp;

    Sender(Workshop workshop, Outbox outbox) {
      this.workshop = workshop;
      this.outbox = outbox;
      Program.EnrichProgram program =
          (Program.EnrichProgram) workshop.program().nodes().get(node);
      this.letters = new EventLetter(program.owner(), program.key(), program.event());
    }

    void take(byte[] message, byte[] address) {
      if (Outbox.nodeOf(address) != node) {
        outbox.pass(message, address);
        return;
      }
      timestamp = Message.timestamp(message);
      Slice key = Outbox.keyOf(address);
      String unfit = answers.value().unfit(key);
      if (unfit != null) {
        outbox.emit(letters.of(Event.read(message), REASON, unfit));
        return;
      }
      workshop.node(node).handle(key, List.of(message), answers.value().state(key), outbox);
    }

    void close() {
      workshop.counters().drainTo(outbox, timestamp);
      shipment.value().giveBack(workshop);
    }
  }
}
