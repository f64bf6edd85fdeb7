package dev.joinery.kernel;

/**
 * A child's row as an entry of a map: the epoch under which it was placed, whether it failed, its
 * order and its row.
 */
record Child(long epoch, int flags, Slice order, Slice row) {
  static Child read(Slice value) {
    ByteReader in = new ByteReader(value);
    return new Child(in.readVarLong(), in.readByte(), in.readBlob(), in.rest());
  }

  Slice toSlice() {
    ByteWriter out = new ByteWriter(order.length() + row.length() + 16);
    out.writeVarLong(epoch).writeByte(flags).writeBlob(order).writeRaw(row);
    return Slice.of(out.toBytes());
  }

  boolean sameContent(Child other) {
    return flags == other.flags && order.equals(other.order) && row.equals(other.row);
  }

  /** By order, then by key. */
  static int compare(Slice orderA, Slice keyA, Slice orderB, Slice keyB) {
    int byOrder = orderA.compareTo(orderB);
    return byOrder != 0 ? byOrder : keyA.compareTo(keyB);
  }
}
