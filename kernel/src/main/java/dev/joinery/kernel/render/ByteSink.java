package dev.joinery.kernel.render;

import java.util.Arrays;

/** Remembers bytes written one after the other, in one array that grows; used by one thread. */
public final class ByteSink {
  byte[] bytes;
  int size;

  /** Starts empty, with room for {@code capacity} bytes. */
  public ByteSink(int capacity) {
    bytes = new byte[Math.max(capacity, 64)];
  }

  /** Forgets what was written and keeps the room. */
  public void clear() {
    size = 0;
  }

  /** The number of bytes written. */
  public int size() {
    return size;
  }

  /** The array behind: its first {@link #size} bytes count, until the next write. */
  public byte[] array() {
    return bytes;
  }

  /** Returns a copy of what was written. */
  public byte[] toByteArray() {
    return Arrays.copyOf(bytes, size);
  }

  /** Appends one byte. */
  public void append(int value) {
    reserve(1);
    bytes[size++] = (byte) value;
  }

  /** Appends all of {@code value}. */
  public void append(byte[] value) {
    append(value, 0, value.length);
  }

  /** Appends {@code length} bytes of {@code value} from {@code offset} on. */
  public void append(byte[] value, int offset, int length) {
    reserve(length);
    System.arraycopy(value, offset, bytes, size, length);
    size += length;
  }

  /** Makes room for {@code more} bytes, so that they may be written in place. */
  void reserve(int more) {
    if (bytes.length - size < more) {
      int doubled = (int) Math.min(2L * bytes.length, Integer.MAX_VALUE - 16);
      bytes = Arrays.copyOf(bytes, Math.max(Math.addExact(size, more), doubled));
    }
  }
}
