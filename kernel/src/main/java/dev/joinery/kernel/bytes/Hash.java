package dev.joinery.kernel.bytes;

import org.apache.spark.sql.catalyst.expressions.XXH64;
import org.apache.spark.unsafe.Platform;

/** Hashes of bytes that are the same on every machine and in every version of the state. */
public final class Hash {
  private Hash() {}

  public static long longOf(byte[] bytes, int offset, int length) {
    return XXH64.hashUnsafeBytes(bytes, Platform.BYTE_ARRAY_OFFSET + offset, length, 42L);
  }

  public static int of(byte[] bytes, int offset, int length) {
    long hash = longOf(bytes, offset, length);
    return (int) (hash ^ hash >>> 32);
  }
}
