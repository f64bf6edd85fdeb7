package dev.joinery.kernel.message;

import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.Slice;

/** A child put or removed, as a receiver reads it; {@code child} is null for a remove. */
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

  /** Of two messages about one child in a batch, the one to believe. */
  public ChildMessage newer(ChildMessage other) {
    if (epoch != other.epoch) {
      return epoch > other.epoch ? this : other;
    }
    return remove ? other : this;
  }
}
