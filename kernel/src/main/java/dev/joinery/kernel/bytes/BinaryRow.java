package dev.joinery.kernel.bytes;

import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.unsafe.Platform;

/** Spark's binary rows over bytes that lie elsewhere; nothing is copied. */
public final class BinaryRow {
  private BinaryRow() {}

  public static UnsafeRow of(Slice bytes, int columns) {
    return point(new UnsafeRow(columns), bytes);
  }

  public static UnsafeRow point(UnsafeRow row, Slice bytes) {
    row.pointTo(bytes.array(), Platform.BYTE_ARRAY_OFFSET + bytes.offset(), bytes.length());
    return row;
  }

  /** The bytes of a row in an array of their own; a projection reuses its buffer. */
  public static Slice copy(UnsafeRow row) {
    byte[] bytes = new byte[row.getSizeInBytes()];
    row.writeToMemory(bytes, Platform.BYTE_ARRAY_OFFSET);
    return Slice.of(bytes);
  }
}
