package dev.joinery.kernel.message;

import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;

/** What a Session is told: what rows add up to, or of one row where it was and is. */
public final class SessionMessage {
  private static final int LEFT = 1;
  private static final int CAME = 2;

  private SessionMessage() {}

  /**
   * What rows that came and went add, which stand from one time to another without a gap.
   *
   * @param rows those that came less those that went
   * @param aggregates the states of the aggregates over them
   */
  public record Sums(long first, long last, long rows, Slice aggregates) {}

  /**
   * One row that came, went, or did both.
   *
   * @param left the time at which it was; null where it was not there
   * @param came the time at which {@code row} is now; null where it is not there
   */
  public record Moved(Slice key, Long left, Long came, Slice row) {}

  public static byte[] toBytes(long timestamp, Sums sums) {
    return Message.start(Message.SESSION_SUMS, timestamp, sums.aggregates().length() + 24)
        .writeLong(sums.first())
        .writeVarLong(sums.last() - sums.first())
        .writeVarLong(sums.rows())
        .writeRaw(sums.aggregates())
        .toBytes();
  }

  public static Sums sums(byte[] message) {
    ByteReader in = Message.body(message);
    long first = in.readLong();
    return new Sums(first, first + in.readVarLong(), in.readVarLong(), in.rest());
  }

  public static byte[] toBytes(long timestamp, Moved moved) {
    int size = moved.key().length() + (moved.row() == null ? 0 : moved.row().length()) + 24;
    ByteWriter out = Message.start(Message.SESSION_ROW, timestamp, size);
    out.writeBlob(moved.key());
    out.writeByte((moved.left() == null ? 0 : LEFT) | (moved.came() == null ? 0 : CAME));
    if (moved.left() != null) {
      out.writeLong(moved.left());
    }
    if (moved.came() != null) {
      out.writeLong(moved.came()).writeRaw(moved.row());
    }
    return out.toBytes();
  }

  public static Moved moved(byte[] message) {
    ByteReader in = Message.body(message);
    Slice key = in.readBlob();
    int flags = in.readByte();
    Long left = (flags & LEFT) != 0 ? (Long) in.readLong() : null;
    Long came = (flags & CAME) != 0 ? (Long) in.readLong() : null;
    return new Moved(key, left, came, came == null ? null : in.rest());
  }
}
