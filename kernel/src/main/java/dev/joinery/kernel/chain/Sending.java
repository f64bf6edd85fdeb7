package dev.joinery.kernel.chain;

import dev.joinery.kernel.message.Outbox;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;
import scala.Tuple2;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;

/** Messages as rows of a message and its address; one row, which is another at each step. */
class Sending extends AbstractIterator<InternalRow> {
  static final int MESSAGE = 0;
  static final int ADDRESS = 1;

  private final UnsafeRowWriter row = new UnsafeRowWriter(2, 1024);
  private Outbox outbox;
  private UnsafeRow passing;

  Sending(Outbox outbox) {
    this.outbox = outbox;
  }

  void send(Outbox next) {
    outbox = next;
  }

  /** Has a row go on as it came, before what else there is. */
  void pass(UnsafeRow as) {
    passing = as;
  }

  /** Whether the next row is one that goes on. */
  boolean passes() {
    return passing != null;
  }

  @Override
  public boolean hasNext() {
    return passes() || outbox.hasNext();
  }

  @Override
  public InternalRow next() {
    if (passes()) {
      UnsafeRow as = passing;
      passing = null;
      return as;
    }
    Tuple2<byte[], byte[]> sent = outbox.next();
    row.reset();
    row.zeroOutNullBytes();
    row.write(MESSAGE, sent._1());
    row.write(ADDRESS, sent._2());
    return row.getRow();
  }

  /** An operator passes on what its processor gives, of whatever type. */
  @SuppressWarnings("unchecked")
  Iterator<Tuple2<byte[], byte[]>> asObjects() {
    return (Iterator<Tuple2<byte[], byte[]>>) (Iterator<?>) this;
  }
}
