package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;

/** Times in microseconds as keys of maps, in whose order they stand. */
final class TimeCode {
  private TimeCode() {}

  static Slice of(long time) {
    return Slice.of(new ByteWriter(Long.BYTES).writeLong(time ^ Long.MIN_VALUE).toBytes());
  }

  /** The time that a key begins with. */
  static long of(Slice key) {
    return new ByteReader(key).readLong() ^ Long.MIN_VALUE;
  }
}
