package dev.joinery.kernel.bytes;

import java.io.Serializable;
import java.util.Arrays;

/** A part of a byte array, compared by content; order is unsigned and lexicographic. */
public record Slice(byte[] array, int offset, int length)
    implements Comparable<Slice>, Serializable {
  public static final Slice EMPTY = of(new byte[0]);

  public static Slice of(byte[] array) {
    return new Slice(array, 0, array.length);
  }

  public boolean isEmpty() {
    return length == 0;
  }

  public byte[] toBytes() {
    return offset == 0 && length == array.length
        ? array
        : Arrays.copyOfRange(array, offset, offset + length);
  }

  /** The same bytes in an array of their own, so that a large array behind them can be freed. */
  public Slice detach() {
    return offset == 0 && length == array.length ? this : of(toBytes());
  }

  public Slice sub(int from, int size) {
    return new Slice(array, offset + from, size);
  }

  /** Whether length and last byte are the other's, in which most keys differ already. */
  public boolean endsLike(Slice other) {
    return length == other.length
        && (length == 0 || array[offset + length - 1] == other.array[other.offset + length - 1]);
  }

  @Override
  public int compareTo(Slice other) {
    return Arrays.compareUnsigned(
        array, offset, offset + length, other.array, other.offset, other.offset + other.length);
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Slice that
        && length == that.length
        && Arrays.equals(
            array, offset, offset + length, that.array, that.offset, that.offset + that.length);
  }

  @Override
  public int hashCode() {
    return Hash.of(array, offset, length);
  }
}
