package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.BinaryRow;
import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.EventTime;
import dev.joinery.kernel.message.Marks;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;

/** Reads the time of rows, as products see them, and as it stands in front of a child's order. */
final class RowTime {
  private static final int PRESENT = 1;
  private static final int CODE_BYTES = 1 + Long.BYTES;

  private final Integer column;
  private final UnsafeRow row;

  /** {@code column} is null where rows have no time that anyone asks for. */
  RowTime(Integer column, int columns) {
    this.column = column;
    this.row = new UnsafeRow(columns);
  }

  /** {@link Marks#UNKNOWN} where the row, which may be null, tells none. */
  long of(Slice bytes) {
    if (column == null || bytes == null) {
      return Marks.UNKNOWN;
    }
    BinaryRow.point(row, bytes);
    return EventTime.isIn(row, column) ? row.getLong(column) : Marks.UNKNOWN;
  }

  /** The time as a message carries it; empty where nobody asks for it. */
  Slice bytesOf(Slice bytes) {
    return column == null
        ? Slice.EMPTY
        : Slice.of(new ByteWriter(Long.BYTES).writeLong(of(bytes)).toBytes());
  }

  /** The time that an order begins with; {@link Marks#UNKNOWN} where it tells none. */
  static long inFrontOf(Slice order) {
    if (order.array()[order.offset()] != PRESENT) {
      return Marks.UNKNOWN;
    }
    long time = new ByteReader(order.sub(1, Long.BYTES)).readLong() ^ Long.MIN_VALUE;
    return EventTime.isIn(time) ? time : Marks.UNKNOWN;
  }

  /** The end that an order begins with; the end of times where it tells none. */
  static long endInFrontOf(Slice order) {
    return order.array()[order.offset()] == PRESENT
        ? new ByteReader(order.sub(1, Long.BYTES)).readLong() ^ Long.MIN_VALUE
        : Long.MAX_VALUE;
  }

  /** An order without the time that it begins with. */
  static Slice behindTime(Slice order) {
    int code = order.array()[order.offset()] == PRESENT ? CODE_BYTES : 1;
    return order.sub(code, order.length() - code);
  }
}
