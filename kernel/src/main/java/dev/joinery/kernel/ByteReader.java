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
    int value =
        (bytes[position] & 0xFF) << 24
            | (bytes[position + 1] & 0xFF) << 16
            | (bytes[position + 2] & 0xFF) << 8
            | (bytes[position + 3] & 0xFF);
    position += 4;
    return value;
  }

  long readLong() {
    return (long) readInt() << 32 | readInt() & 0xFFFFFFFFL;
  }

  long readVarLong() {
    long value = 0;
    for (int shift = 0; ; shift += 7) {
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
