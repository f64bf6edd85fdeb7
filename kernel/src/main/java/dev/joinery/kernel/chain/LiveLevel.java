package dev.joinery.kernel.chain;

import dev.joinery.kernel.bytes.Address;
import dev.joinery.kernel.message.Outbox;
import dev.joinery.kernel.node.Node;
import dev.joinery.kernel.program.Program;
import dev.joinery.kernel.program.SearchProgram;
import dev.joinery.kernel.spark.RowsAhead;
import dev.joinery.kernel.spark.WholeTask;
import java.util.NoSuchElementException;
import java.util.stream.IntStream;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.streaming.TimerValues;
import scala.Tuple2;
import scala.collection.Iterator;
import scala.collection.Iterator$;

/**
 * The same in real time, for nodes that do better with several messages at once: what has come by
 * the time that a node is free is handed to it together, as its {@link Node.Turn}s say. A message
 * that comes alone waits for no other.
 */
public final class LiveLevel extends Level implements WholeTask {
  public LiveLevel(Broadcast<SharedProgram> shared, int level) {
    super(shared, level, new Counting.EachGroup());
  }

  /** Whether a level has such nodes. One with timers is left to Spark, which calls them. */
  public static boolean suits(Program program, int level) {
    return !program.isTimed(level)
        && program.nodes().stream()
            .anyMatch(each -> each instanceof SearchProgram && each.level() == level);
  }

  /** Whether one of the levels of a program is such. */
  public static boolean isIn(Program program) {
    return IntStream.rangeClosed(1, program.levels()).anyMatch(level -> suits(program, level));
  }

  @Override
  public Iterator<Tuple2<byte[], byte[]>> handleInputRows(
      byte[] none, Iterator<byte[]> values, TimerValues timers) {
    begin();
    return new Handling(RowsAhead.of(rowsOfTask(values))).asObjects();
  }

  @Override
  public Iterator<InternalRow> afterTask() {
    return Iterator$.MODULE$.empty();
  }

  /** What comes of a task's messages. */
  private final class Handling extends Sending {
    private final RowsAhead rows;
    private final Inbox inbox = new Inbox();

    Handling(RowsAhead rows) {
      super(new Outbox());
      this.rows = rows;
    }

    @Override
    public boolean hasNext() {
      while (!super.hasNext()) {
        Inbox.Group group = following();
        if (group != null) {
          send(handle(group.address(), group.messages()));
        } else if (!passes() && rows.hasEnded() && !inbox.anyWaits()) {
          return false;
        }
      }
      return true;
    }

    private Inbox.Group following() {
      Inbox.Group urgent = inbox.urgent();
      if (urgent == null && !inbox.isPortionDue()) {
        receive();
        inbox.received(!passes());
        urgent = inbox.urgent();
      }
      return urgent != null || passes() ? urgent : inbox.portion();
    }

    /** Takes what has come, up to a message to a later level; waits where nothing else is to do. */
    private void receive() {
      UnsafeRow row = inbox.anyWaits() ? rows.poll() : rows.take();
      while (row != null) {
        byte[] address = row.getBinary(ADDRESS);
        int node = Address.nodeOf(address);
        if (!isHere(node)) {
          pass(row);
          return;
        }
        byte[] message = row.getBinary(MESSAGE);
        inbox.add(address, message, turnOf(node, message));
        row = inbox.isFull() ? null : rows.poll();
      }
    }

    @Override
    public InternalRow next() {
      if (!hasNext()) {
        throw new NoSuchElementException();
      }
      return super.next();
    }
  }
}
