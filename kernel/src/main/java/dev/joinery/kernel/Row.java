package dev.joinery.kernel;

import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.unsafe.Platform;

/** Spark's binary rows over bytes that lie elsewhere; nothing is copied. */
final class Row {
  private Row() {}

  static UnsafeRow of(Slice bytes, int columns) {
    return point(new UnsafeRow(columns), bytes);
  }

  static UnsafeRow point(UnsafeRow row, Slice bytes) {
    row.pointTo(bytes.array(), Platform.BYTE_ARRAY_OFFSET + bytes.offset(), bytes.length());
    return row;
  }

  /** The bytes of a row in an array of their own; a projection reuses its buffer. */
  static Slice copy(UnsafeRow row) {
    byte[] bytes = new byte[row.getSizeInBytes()];
    row.writeToMemory(bytes, Platform.BYTE_ARRAY_OFFSET);
    return Slice.of(bytes);
  }
}
