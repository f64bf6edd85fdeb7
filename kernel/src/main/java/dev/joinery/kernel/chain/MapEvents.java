package dev.joinery.kernel.chain;

import dev.joinery.kernel.bytes.Address;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.Event;
import dev.joinery.kernel.message.EventLetter;
import dev.joinery.kernel.message.Outbox;
import dev.joinery.kernel.message.RowByRow;
import dev.joinery.kernel.node.Assembler;
import dev.joinery.kernel.node.NodeContext;
import dev.joinery.kernel.program.StreamProgram;
import dev.joinery.kernel.stream.Onward;
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
public final class MapEvents implements MapPartitionsFunction<Row, Tuple2<byte[], byte[]>> {
  static final String REASON = "map_failed";

  private final Broadcast<SharedProgram> shared;
  private final int node;

  /** Rows have columns message, address, row and error. */
  public MapEvents(Broadcast<SharedProgram> shared, int node) {
    this.shared = shared;
    this.node = node;
  }

  @Override
  public Iterator<Tuple2<byte[], byte[]>> call(Iterator<Row> rows) {
    Outbox outbox = new Outbox();
    Sender sender = new Sender(shared.value().take(), outbox);
    outbox.later(new RowByRow<>(rows, sender::take, sender::close));
    return outbox;
  }

  private final class Sender {
    private final Nodes nodes;
    private final Outbox outbox;
    private final StreamProgram.MapProgram program;
    private final List<Onward> onward;
    private final EventLetter letters;
    private long timestamp;

    Sender(Nodes nodes, Outbox outbox) {
      this.nodes = nodes;
      this.outbox = outbox;
      this.program = (StreamProgram.MapProgram) nodes.program().nodes().get(node);
      NodeContext context = nodes.context();
      this.onward = program.onward().stream().map(each -> new Onward(each, context)).toList();
      this.letters = new EventLetter(program.owner(), program.key(), program.event());
    }

    void take(Row row) {
      byte[] message = (byte[]) row.get(0);
      byte[] address = (byte[]) row.get(1);
      if (Address.nodeOf(address) != node) {
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
        onward.forEach(next -> next.send(made, Assembler.NO_INPUTS, outbox));
      } else if (row.isNullAt(3)) {
        nodes.counters().product(program.owner(), "events_dropped", 1);
      }
    }

    void close() {
      nodes.counters().drainTo(outbox, timestamp);
      shared.value().giveBack(nodes);
    }
  }
}
