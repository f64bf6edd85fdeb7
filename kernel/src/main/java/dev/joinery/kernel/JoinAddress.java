package dev.joinery.kernel;

import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.StructType;

/**
 * Where a lookup's node meets an event: the code of the event's join value, or the bucket that this
 * code falls into. Remembers nothing between events.
 */
final class JoinAddress {
  private final KeyCodec codec;
  private final UnsafeRow row;
  private final Buckets buckets;

  JoinAddress(Program.Address address, StructType columns, Buckets buckets) {
    this.codec = Upward.codec(address, Workshop.slotsOf(columns));
    this.row = new UnsafeRow(columns.length());
    this.buckets = buckets;
  }

  /** Whether a row of the table can ever meet an event with these columns. */
  boolean joins(Slice columns) {
    return !codec.anyNull(Row.point(row, columns));
  }

  byte[] of(Slice identity, Slice columns) {
    Row.point(row, columns);
    if (!buckets.areNone()) {
      return buckets.of(codec.encode(row));
    }
    // An event without a join value has an address of its own, where no row ever comes.
    return codec.anyNull(row)
        ? Lookup.addressOfNull(identity.toBytes())
        : codec.encode(row);
  }
}
