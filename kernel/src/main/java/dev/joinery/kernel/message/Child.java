package dev.joinery.kernel.message;

import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;

/**
 * A child's row as an entry of a map: the epoch under which it was placed, whether it failed, its
 * order and its row.
 *
 * @param encoded all of it, as it travels and is stored
 */
public record Child(Slice encoded, long epoch, int flags, Slice order, Slice row) {
  public static Child read(Slice encoded) {
    ByteReader in = new ByteReader(encoded);
    return new Child(encoded, in.readLong(), in.readByte(), in.readBlob(), in.rest());
  }

  public static Child of(long epoch, int flags, Slice order, Slice row) {
    ByteWriter out = new ByteWriter(order.length() + row.length() + 16);
    write(out, epoch, flags, order, row);
    return new Child(Slice.of(out.toBytes()), epoch, flags, order, row);
  }

  static ByteWriter write(ByteWriter out, long epoch, int flags, Slice order, Slice row) {
    return out.writeLong(epoch).writeByte(flags).writeBlob(order).writeRaw(row);
  }

  public boolean sameContent(Child other) {
    return flags == other.flags && order.equals(other.order) && row.equals(other.row);
  }

  /** By order, then by key. */
  public static int compare(Slice orderA, Slice keyA, Slice orderB, Slice keyB) {
    int byOrder = orderA.compareTo(orderB);
    return byOrder != 0 ? byOrder : keyA.compareTo(keyB);
  }
}
