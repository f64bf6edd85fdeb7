package dev.joinery.kernel.bytes;

/** Reads what a {@link ByteWriter} wrote: remembers an array, a position and an end. */
public final class ByteReader {
  private final byte[] bytes;
  private final int end;
  private int position;

  public ByteReader(byte[] bytes) {
    this(bytes, 0, bytes.length);
  }

  public ByteReader(byte[] bytes, int offset, int length) {
    this.bytes = bytes;
    this.position = offset;
    this.end = offset + length;
  }

  public ByteReader(Slice slice) {
    this(slice.array(), slice.offset(), slice.length());
  }

  public boolean hasMore() {
    return position < end;
  }

  int position() {
    return position;
  }

  public int readByte() {
    return bytes[position++];
  }

  public int readInt() {
    int value = (int) ByteWriter.INTS.get(bytes, position);
    position += Integer.BYTES;
    return value;
  }

  public long readLong() {
    long value = (long) ByteWriter.LONGS.get(bytes, position);
    position += Long.BYTES;
    return value;
  }

  public long readVarLong() {
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

  public int readVarInt() {
    return (int) readVarLong();
  }

  public Slice readSlice(int length) {
    Slice slice = new Slice(bytes, position, length);
    position += length;
    return slice;
  }

  public Slice readBlob() {
    return readSlice(readVarInt());
  }

  public Slice rest() {
    return readSlice(end - position);
  }
}
