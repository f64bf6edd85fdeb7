package dev.joinery.kernel.chain;

import dev.joinery.kernel.message.Outbox;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;
import scala.Tuple2;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;

/** Messages as rows of a message and its address; one row, which is another at each step. */
class Sending extends AbstractIterator<InternalRow> {
  private final UnsafeRowWriter row = new UnsafeRowWriter(2, 1024);
  private Outbox outbox;

  Sending(Outbox outbox) {
    this.outbox = outbox;
  }

  void send(Outbox next) {
    outbox = next;
  }

  @Override
  public boolean hasNext() {
    return outbox.hasNext();
  }

  @Override
  public InternalRow next() {
    Tuple2<byte[], byte[]> sent = outbox.next();
    row.reset();
    row.zeroOutNullBytes();
    row.write(0, sent._1());
    row.write(1, sent._2());
    return row.getRow();
  }

  /** An operator passes on what its processor gives, of whatever type. */
  @SuppressWarnings("unchecked")
  Iterator<Tuple2<byte[], byte[]>> asObjects() {
    return (Iterator<Tuple2<byte[], byte[]>>) (Iterator<?>) this;
  }
}
