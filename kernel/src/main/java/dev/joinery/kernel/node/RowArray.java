package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.Slice;
import java.util.Arrays;
import org.apache.spark.sql.catalyst.expressions.UnsafeArrayData;
import org.apache.spark.unsafe.Platform;

/**
 * Puts binary rows together as the binary array that Spark makes of them, byte for byte: remembers
 * the array that is being filled.
 */
final class RowArray {
  private static final int LARGE = 1 << 20;

  private byte[] bytes = new byte[1024];
  private int at;
  private int end;

  /** Begins an array of rows that have this many bytes together. */
  void begin(int rows, long rowBytes) {
    at = UnsafeArrayData.calculateHeaderPortionInBytes(rows);
    end = at + rows * Long.BYTES;
    long size = end + rowBytes;
    if (size > bytes.length || bytes.length > LARGE) {
      bytes = new byte[Math.toIntExact(size)];
    }
    Platform.putLong(bytes, Platform.BYTE_ARRAY_OFFSET, rows);
    Arrays.fill(bytes, Long.BYTES, at, (byte) 0);
  }

  /** Adds the next row, whose length is a multiple of eight. */
  void add(Slice row) {
    Platform.putLong(
        bytes, Platform.BYTE_ARRAY_OFFSET + at, (long) end << Integer.SIZE | row.length());
    System.arraycopy(row.array(), row.offset(), bytes, end, row.length());
    at += Long.BYTES;
    end += row.length();
  }

  /** The array, which is valid until the next begins. */
  UnsafeArrayData array() {
    UnsafeArrayData array = new UnsafeArrayData();
    array.pointTo(bytes, Platform.BYTE_ARRAY_OFFSET, end);
    return array;
  }
}
