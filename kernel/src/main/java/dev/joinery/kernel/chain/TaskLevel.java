package dev.joinery.kernel.chain;

import dev.joinery.kernel.bytes.Address;
import dev.joinery.kernel.message.Outbox;
import dev.joinery.kernel.spark.RowGroups;
import dev.joinery.kernel.spark.WholeTask;
import dev.joinery.kernel.state.Expiry;
import java.util.NoSuchElementException;
import org.apache.spark.TaskContext;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;
import org.apache.spark.sql.streaming.ExpiredTimerInfo;
import org.apache.spark.sql.streaming.TimerValues;
import org.apache.spark.unsafe.Platform;
import scala.Tuple2;
import scala.collection.Iterator;

/**
 * The same, for an operator that is handed all messages of a task at once: those to later levels go
 * on as they come, the rest is brought together by address, without being sorted.
 */
public final class TaskLevel extends Level implements WholeTask {
  private final Broadcast<SharedProgram> shared;
  private boolean handling;

  public TaskLevel(Broadcast<SharedProgram> shared, int level) {
    super(shared, level, new Counting.EachTask());
    this.shared = shared;
  }

  @Override
  public Iterator<Tuple2<byte[], byte[]>> handleInputRows(
      byte[] none, Iterator<byte[]> values, TimerValues timers) {
    begin();
    Iterator<InternalRow> rows = rowsOfTask(values);
    handling = true;
    return new Handling(rows).asObjects();
  }

  @Override
  public Iterator<Tuple2<byte[], byte[]>> handleExpiredTimer(
      byte[] address, TimerValues timers, ExpiredTimerInfo expired) {
    return new Sending(wake(address, timers)).asObjects();
  }

  @Override
  Expiry opened(Expiry expiry) {
    return handling ? expiry.writingAtEnd() : expiry;
  }

  @Override
  public Iterator<InternalRow> afterTask() {
    return new Sending(TaskCounts.of(TaskContext.get(), shared.value()));
  }

  /** What comes of a task's messages. */
  private final class Handling extends Sending {
    private final Iterator<InternalRow> rows;
    private final RowGroups ours = RowGroups.ofTask();
    private java.util.Iterator<RowGroups.Group> groups;
    private byte[] address;
    private int node;
    private long messages;
    private boolean later;

    Handling(Iterator<InternalRow> rows) {
      super(new Outbox());
      this.rows = rows;
    }

    @Override
    public boolean hasNext() {
      while (!passes() && !sends()) {
        if (groups == null) {
          receive();
        } else {
          tellMessages();
          if (!groups.hasNext()) {
            ours.close();
            writeNotes();
            handling = false;
            return false;
          }
          take(groups.next());
        }
      }
      return true;
    }

    private void take(RowGroups.Group group) {
      address = group.address();
      node = Address.nodeOf(address);
      messages = group.messages().size();
      Outbox sent = handle(address, group.messages());
      later = sent.isLazy();
      send(sent);
    }

    /** Of the address before this one, whose messages have all come and gone. */
    private void tellMessages() {
      if (address != null) {
        heard(node, address, messages);
        address = null;
        later = false;
      }
    }

    /** Whether the last address sends more, which may be found out now. */
    private boolean sends() {
      if (!later) {
        return super.hasNext();
      }
      long began = System.nanoTime();
      boolean more = super.hasNext();
      spentLater(node, System.nanoTime() - began);
      return more;
    }

    /** Up to the next message to a later level. */
    private void receive() {
      while (rows.hasNext()) {
        UnsafeRow row = (UnsafeRow) rows.next();
        int to = nodeOf(row);
        if (!isHere(to)) {
          pass(row);
          return;
        }
        if (deadlines().isOf(to)) {
          deadlines().hear(row.getBinary(ADDRESS), row.getBinary(MESSAGE));
        } else {
          ours.add(row);
        }
      }
      addDue();
      groups = ours.groups();
    }

    /** All tasks before have been heard, so it is known how far time has come. */
    private void addDue() {
      UnsafeRowWriter row = new UnsafeRowWriter(2, 128);
      deadlines()
          .tellDue(
              (message, address) -> {
                row.reset();
                row.zeroOutNullBytes();
                row.write(MESSAGE, message);
                row.write(ADDRESS, address);
                ours.add(row.getRow());
              });
    }

    private int nodeOf(UnsafeRow row) {
      long field = row.getLong(ADDRESS);
      long start = row.getBaseOffset() + (field >>> 32);
      long node = 0;
      int shift = 0;
      for (long at = start + Integer.BYTES; ; at++, shift += 7) {
        byte next = Platform.getByte(row.getBaseObject(), at);
        node |= (next & 0x7FL) << shift;
        if (next >= 0) {
          return (int) node - 1;
        }
      }
    }

    @Override
    public InternalRow next() {
      if (!hasNext()) {
        throw new NoSuchElementException();
      }
      if (!passes()) {
        messages++;
      }
      return super.next();
    }
  }
}
