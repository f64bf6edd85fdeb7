package dev.joinery.kernel.message;

import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;

/** A child put or removed; {@code child} is null for a remove. */
public record ChildMessage(int branch, long epoch, Slice key, boolean remove, Child child) {
  public static ChildMessage read(byte[] message) {
    ByteReader in = Message.body(message);
    int branch = in.readVarInt();
    Slice key = in.readBlob();
    if (Message.kind(message) == Message.CHILD_REMOVE) {
      return new ChildMessage(branch, in.readLong(), key, true, null);
    }
    Child child = Child.read(in.rest());
    return new ChildMessage(branch, child.epoch(), key, false, child);
  }

  public static byte[] put(
      long timestamp, int branch, long epoch, Slice key, int flags, Slice order, Slice row) {
    int size = key.length() + order.length() + row.length() + 24;
    ByteWriter out = Message.start(Message.CHILD_PUT, timestamp, size);
    out.writeVarInt(branch).writeBlob(key);
    return Child.write(out, epoch, flags, order, row).toBytes();
  }

  public static byte[] remove(long timestamp, int branch, long epoch, Slice key) {
    return Message.start(Message.CHILD_REMOVE, timestamp, key.length() + 24)
        .writeVarInt(branch)
        .writeBlob(key)
        .writeLong(epoch)
        .toBytes();
  }

  /** Of two messages about one child in a batch, the one to believe. */
  public ChildMessage newer(ChildMessage other) {
    if (epoch != other.epoch) {
      return epoch > other.epoch ? this : other;
    }
    return remove ? other : this;
  }
}
