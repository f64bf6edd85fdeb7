package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;

/** Whole numbers in as few bytes as {@link java.math.BigInteger#toByteArray} takes, the same. */
final class WholeNumber {
  private WholeNumber() {}

  /** Writes a number as a blob. */
  static void write(long number, ByteWriter out) {
    int bits = Long.SIZE - Long.numberOfLeadingZeros(number < 0 ? ~number : number);
    byte[] bytes = new byte[bits / Byte.SIZE + 1];
    for (int i = bytes.length - 1, by = 0; i >= 0; i--, by += Byte.SIZE) {
      bytes[i] = (byte) (number >> by);
    }
    out.writeBlob(bytes);
  }

  /** Reads a number of at most eight bytes. */
  static long read(Slice bytes) {
    long number = bytes.array()[bytes.offset()];
    for (int i = 1; i < bytes.length(); i++) {
      number = number << Byte.SIZE | bytes.array()[bytes.offset() + i] & 0xFF;
    }
    return number;
  }
}
