package dev.joinery.kernel.message;

import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.Slice;

/** What a Session is told: what rows add up to. */
public final class SessionMessage {
  private SessionMessage() {}

  /**
   * What rows that came and went add, which stand from one time to another without a gap.
   *
   * @param rows those that came less those that went
   * @param aggregates the states of the aggregates over them
   */
  public record Sums(long first, long last, long rows, Slice aggregates) {}

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
}
