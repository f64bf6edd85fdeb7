package dev.joinery.kernel.chain;

import dev.joinery.kernel.bytes.Address;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.Event;
import dev.joinery.kernel.message.EventLetter;
import dev.joinery.kernel.message.Message;
import dev.joinery.kernel.message.Outbox;
import dev.joinery.kernel.message.RowByRow;
import dev.joinery.kernel.program.StreamProgram;
import dev.joinery.kernel.stream.Answers;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.api.java.function.MapPartitionsFunction;
import org.apache.spark.broadcast.Broadcast;
import scala.Tuple2;

/**
 * Sends the events of one lookup on with what a store said of their keys; passes all else.
 * Remembers nothing.
 */
public final class AskedEvents
    implements MapPartitionsFunction<Tuple2<byte[], byte[]>, Tuple2<byte[], byte[]>> {
  static final String REASON = "lookup_unfit";

  private final Broadcast<SharedProgram> shared;
  private final Broadcast<Answers> answers;
  private final int node;

  public AskedEvents(Broadcast<SharedProgram> shared, Broadcast<Answers> answers, int node) {
    this.shared = shared;
    this.answers = answers;
    this.node = node;
  }

  @Override
  public Iterator<Tuple2<byte[], byte[]>> call(Iterator<Tuple2<byte[], byte[]>> rows) {
    Outbox outbox = new Outbox();
    Sender sender = new Sender(shared.value().take(), outbox);
    outbox.later(new RowByRow<>(rows, row -> sender.take(row._1(), row._2()), sender::close));
    return outbox;
  }

  private final class Sender {
    private final Nodes nodes;
    private final Outbox outbox;
    private final EventLetter letters;
    private long timestamp;

    Sender(Nodes nodes, Outbox outbox) {
      this.nodes = nodes;
      this.outbox = outbox;
      StreamProgram.CurrentLookupProgram program =
          (StreamProgram.CurrentLookupProgram) nodes.program().nodes().get(node);
      this.letters =
          new EventLetter(program.owner(), program.key(), program.event(), program.hidden());
    }

    void take(byte[] message, byte[] address) {
      if (Address.nodeOf(address) != node) {
        outbox.pass(message, address);
        return;
      }
      timestamp = Message.timestamp(message);
      Slice key = Address.keyOf(address);
      String unfit = answers.value().unfit(key);
      if (unfit != null) {
        outbox.emit(letters.of(Event.read(message), REASON, unfit));
        return;
      }
      nodes.node(node).handle(key, List.of(message), answers.value().state(key), outbox);
    }

    void close() {
      nodes.counters().drainTo(outbox, timestamp);
      shared.value().giveBack(nodes);
    }
  }
}
