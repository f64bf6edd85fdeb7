package dev.joinery.kernel.bytes;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.Arrays;

/** A growable byte buffer: remembers what was written to it, and gives it back as one array. */
public final class ByteWriter {
  static final VarHandle INTS =
      MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.BIG_ENDIAN);
  public static final VarHandle LONGS =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.BIG_ENDIAN);

  private byte[] bytes;
  private int size;

  public ByteWriter() {
    this(64);
  }

  public ByteWriter(int capacity) {
    bytes = new byte[capacity];
  }

  public int size() {
    return size;
  }

  public byte[] array() {
    return bytes;
  }

  public byte[] toBytes() {
    return Arrays.copyOf(bytes, size);
  }

  public ByteWriter reset() {
    size = 0;
    return this;
  }

  public ByteWriter writeByte(int value) {
    ensure(1);
    bytes[size++] = (byte) value;
    return this;
  }

  /** Big-endian, so that unsigned byte order is number order. */
  public ByteWriter writeInt(int value) {
    ensure(Integer.BYTES);
    INTS.set(bytes, size, value);
    size += Integer.BYTES;
    return this;
  }

  /** Big-endian, so that unsigned byte order is number order. */
  public ByteWriter writeLong(long value) {
    ensure(Long.BYTES);
    LONGS.set(bytes, size, value);
    size += Long.BYTES;
    return this;
  }

  /** Seven bits a byte, low bits first; negative numbers take ten bytes. */
  public ByteWriter writeVarLong(long value) {
    ensure(10);
    if ((value & ~0x7FL) == 0) {
      bytes[size++] = (byte) value;
      return this;
    }
    return writeLongerVarLong(value);
  }

  private ByteWriter writeLongerVarLong(long number) {
    long value = number;
    while ((value & ~0x7FL) != 0) {
      bytes[size++] = (byte) ((value & 0x7F) | 0x80);
      value >>>= 7;
    }
    bytes[size++] = (byte) value;
    return this;
  }

  public ByteWriter writeVarInt(int value) {
    return writeVarLong(value & 0xFFFFFFFFL);
  }

  public ByteWriter writeRaw(byte[] source, int offset, int length) {
    ensure(length);
    System.arraycopy(source, offset, bytes, size, length);
    size += length;
    return this;
  }

  public ByteWriter writeRaw(byte[] source) {
    return writeRaw(source, 0, source.length);
  }

  public ByteWriter writeRaw(Slice source) {
    return writeRaw(source.array(), source.offset(), source.length());
  }

  /** A length, then the bytes. */
  public ByteWriter writeBlob(byte[] source) {
    return writeVarInt(source.length).writeRaw(source);
  }

  /** A length, then the bytes. */
  public ByteWriter writeBlob(Slice source) {
    return writeVarInt(source.length()).writeRaw(source);
  }

  /** Overwrites four bytes at `position`. */
  public void setInt(int position, int value) {
    INTS.set(bytes, position, value);
  }

  private void ensure(int more) {
    if (size + more > bytes.length) {
      bytes = Arrays.copyOf(bytes, Math.max(bytes.length * 2, size + more));
    }
  }
}
