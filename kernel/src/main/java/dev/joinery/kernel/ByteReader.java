package dev.joinery.kernel;

/** Reads what a {@link ByteWriter} wrote: remembers an array, a position and an end. */
final class ByteReader {
  private final byte[] bytes;
  private final int end;
  private int position;

  ByteReader(byte[] bytes) {
    this(bytes, 0, bytes.length);
  }

  ByteReader(byte[] bytes, int offset, int length) {
    this.bytes = bytes;
    this.position = offset;
    this.end = offset + length;
  }

  ByteReader(Slice slice) {
    this(slice.array(), slice.offset(), slice.length());
  }

  boolean hasMore() {
    return position < end;
  }

  int position() {
    return position;
  }

  int readByte() {
    return bytes[position++];
  }

  int readInt() {
    int value = (int) ByteWriter.INTS.get(bytes, position);
    position += Integer.BYTES;
    return value;
  }

  long readLong() {
    long value = (long) ByteWriter.LONGS.get(bytes, position);
    position += Long.BYTES;
    return value;
  }

  long readVarLong() {
    byte first = bytes[position++];
    return first >= 0 ? first : readVarLong(first & 0x7FL);
  }

  private long readVarLong(long first) {
    long value = first;
    for (int shift = 7; ; shift += 7) {
      byte next = bytes[position++];
      value |= (next & 0x7FL) << shift;
      if (next >= 0) {
        return value;
      }
    }
  }

  int readVarInt() {
    return (int) readVarLong();
  }

  Slice readSlice(int length) {
    Slice slice = new Slice(bytes, position, length);
    position += length;
    return slice;
  }

  Slice readBlob() {
    return readSlice(readVarInt());
  }

  Slice rest() {
    return readSlice(end - position);
  }
}
