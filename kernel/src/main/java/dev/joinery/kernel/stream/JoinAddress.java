package dev.joinery.kernel.stream;

import dev.joinery.kernel.bytes.Address;
import dev.joinery.kernel.bytes.BinaryRow;
import dev.joinery.kernel.bytes.KeyCodec;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.node.NodeContext;
import dev.joinery.kernel.program.Buckets;
import dev.joinery.kernel.program.Program;
import dev.joinery.kernel.program.StreamProgram;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.StructType;

/**
 * Where a node meets an event: the code of the event's join value, or the bucket that this code
 * falls into. A lookup meets nothing under a null; rolling columns have null as a value of its own.
 * Remembers nothing between events.
 */
final class JoinAddress {
  private final KeyCodec codec;
  private final UnsafeRow row;
  private final Buckets buckets;
  private final boolean nullsJoin;

  /** {@code target} is the node that is met, {@code address} over {@code columns}. */
  JoinAddress(Program program, int target, Program.Address address, StructType columns) {
    this.buckets = program.buckets().get(target);
    this.nullsJoin = program.nodes().get(target) instanceof StreamProgram.RollingProgram;
    this.codec = address.codec(NodeContext.slotsOf(columns));
    this.row = new UnsafeRow(columns.length());
  }

  /** Whether anything can ever meet an event with these columns. */
  boolean joins(Slice columns) {
    return nullsJoin || !codec.anyNull(BinaryRow.point(row, columns));
  }

  byte[] of(Slice identity, Slice columns) {
    BinaryRow.point(row, columns);
    if (!buckets.areNone()) {
      return buckets.of(codec.encode(row));
    }
    // An event without a join value has an address of its own, where no row ever comes.
    return !nullsJoin && codec.anyNull(row)
        ? Address.keyOfNull(identity.toBytes())
        : codec.encode(row);
  }
}
