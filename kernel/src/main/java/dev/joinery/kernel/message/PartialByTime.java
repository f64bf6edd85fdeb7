package dev.joinery.kernel.message;

import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.Slice;

/**
 * What a Session or a Sliding is told: what rows that came and went add up to, which stand from one
 * time to another without a gap.
 *
 * @param rows those that came less those that went
 * @param aggregates the states of the aggregates over them
 */
public record PartialByTime(long first, long last, long rows, Slice aggregates) {
  public byte[] toBytes(long timestamp) {
    return Message.start(Message.PARTIAL_BY_TIME, timestamp, aggregates.length() + 24)
        .writeLong(first)
        .writeVarLong(last - first)
        .writeVarLong(rows)
        .writeRaw(aggregates)
        .toBytes();
  }

  public static PartialByTime read(byte[] message) {
    ByteReader in = Message.body(message);
    long first = in.readLong();
    return new PartialByTime(first, first + in.readVarLong(), in.readVarLong(), in.rest());
  }
}
