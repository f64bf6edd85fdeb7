package dev.joinery.kernel.format;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/** Walks over one message in Avro's binary encoding; refuses what ends too early. */
final class AvroCursor extends Cursor {
  private static final VarHandle INTS =
      MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);
  private static final VarHandle LONGS =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

  /** Reads an int or a long. */
  long readLong() {
    long value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      byte next = readByte();
      value |= (next & 0x7fL) << shift;
      if (next >= 0) {
        return value >>> 1 ^ -(value & 1);
      }
    }
    throw Rejected.undecodable("a number of more than ten bytes in the Avro data");
  }

  byte readByte() {
    if (at >= end) {
      throw tooShort();
    }
    return bytes[at++];
  }

  float readFloat() {
    int from = skip(4);
    return Float.intBitsToFloat((int) INTS.get(bytes, from));
  }

  double readDouble() {
    int from = skip(8);
    return Double.longBitsToDouble((long) LONGS.get(bytes, from));
  }

  /** Reads the branch of a union, or the symbol of an enum, of which there are {@code size}. */
  int readIndex(int size) {
    long index = readLong();
    if (index < 0 || index >= size) {
      throw Rejected.undecodable("the Avro data names a branch that its schema does not have");
    }
    return (int) index;
  }

  /** Reads the length of a text or of bytes, which stand from {@link #at} on. */
  int readLength() {
    long length = readLong();
    if (length < 0 || length > end - at) {
      throw tooShort();
    }
    return (int) length;
  }

  /** Reads how many entries the next block of a list or a map has; 0 after the last. */
  int readBlock() {
    long count = readLong();
    if (count < 0) {
      count = -count;
      readLength();
    }
    // An entry takes a byte: else a few bytes could stand for any number of nulls.
    if (count < 0 || count > end - at) {
      throw tooShort();
    }
    return (int) count;
  }

  /** Steps over a number of bytes; returns where they begin. */
  int skip(int length) {
    if (length > end - at) {
      throw tooShort();
    }
    int from = at;
    at += length;
    return from;
  }

  @Override
  void finish() {
    if (at != end) {
      throw Rejected.undecodable("bytes are left after the Avro data");
    }
  }

  private static Rejected tooShort() {
    return Rejected.undecodable("the Avro data ends too early");
  }
}
