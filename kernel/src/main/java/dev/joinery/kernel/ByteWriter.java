package dev.joinery.kernel;

import java.util.Arrays;

/** A growable byte buffer: remembers what was written to it, and gives it back as one array. */
final class ByteWriter {
  private byte[] bytes;
  private int size;

  ByteWriter() {
    this(64);
  }

  ByteWriter(int capacity) {
    bytes = new byte[capacity];
  }

  int size() {
    return size;
  }

  byte[] array() {
    return bytes;
  }

  byte[] toBytes() {
    return Arrays.copyOf(bytes, size);
  }

  ByteWriter reset() {
    size = 0;
    return this;
  }

  ByteWriter writeByte(int value) {
    ensure(1);
    bytes[size++] = (byte) value;
    return this;
  }

  /** Big-endian, so that unsigned byte order is number order. */
  ByteWriter writeInt(int value) {
    ensure(4);
    bytes[size] = (byte) (value >>> 24);
    bytes[size + 1] = (byte) (value >>> 16);
    bytes[size + 2] = (byte) (value >>> 8);
    bytes[size + 3] = (byte) value;
    size += 4;
    return this;
  }

  /** Big-endian, so that unsigned byte order is number order. */
  ByteWriter writeLong(long value) {
    writeInt((int) (value >>> 32));
    return writeInt((int) value);
  }

  /** Seven bits a byte, low bits first; negative numbers take ten bytes. */
  ByteWriter writeVarLong(long value) {
    ensure(10);
    while ((value & ~0x7FL) != 0) {
      bytes[size++] = (byte) ((value & 0x7F) | 0x80);
      value >>>= 7;
    }
    bytes[size++] = (byte) value;
    return this;
  }

  ByteWriter writeVarInt(int value) {
    return writeVarLong(value & 0xFFFFFFFFL);
  }

  ByteWriter writeRaw(byte[] source, int offset, int length) {
    ensure(length);
    System.arraycopy(source, offset, bytes, size, length);
    size += length;
    return this;
  }

  ByteWriter writeRaw(byte[] source) {
    return writeRaw(source, 0, source.length);
  }

  ByteWriter writeRaw(Slice source) {
    return writeRaw(source.array(), source.offset(), source.length());
  }

  /** A length, then the bytes. */
  ByteWriter writeBlob(byte[] source) {
    return writeVarInt(source.length).writeRaw(source);
  }

  /** A length, then the bytes. */
  ByteWriter writeBlob(Slice source) {
    return writeVarInt(source.length()).writeRaw(source);
  }

  /** Overwrites four bytes at `position`. */
  void setInt(int position, int value) {
    bytes[position] = (byte) (value >>> 24);
    bytes[position + 1] = (byte) (value >>> 16);
    bytes[position + 2] = (byte) (value >>> 8);
    bytes[position + 3] = (byte) value;
  }

  private void ensure(int more) {
    if (size + more > bytes.length) {
      bytes = Arrays.copyOf(bytes, Math.max(bytes.length * 2, size + more));
    }
  }
}
