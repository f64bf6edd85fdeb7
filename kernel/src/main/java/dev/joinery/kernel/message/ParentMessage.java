package dev.joinery.kernel.message;

import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.Slice;

/** A parent announced at a join value, or gone from it; its row travels where it is assembled. */
public record ParentMessage(long epoch, Slice key, boolean remove, Slice row) {
  public static ParentMessage read(byte[] message) {
    ByteReader in = Message.body(message);
    boolean remove = Message.kind(message) == Message.PARENT_REMOVE;
    return new ParentMessage(in.readLong(), in.readBlob(), remove, in.rest());
  }

  /**
   * The same under an epoch that is not before a known one: an append relation's row that comes again
   * has the time of its batch, of a clock that may have been set back.
   */
  public ParentMessage notBefore(long known) {
    return epoch >= known ? this : new ParentMessage(known, key, remove, row);
  }

  public static byte[] put(long timestamp, long epoch, byte[] key, Slice row) {
    return Message.start(Message.PARENT_PUT, timestamp, key.length + row.length() + 16)
        .writeLong(epoch)
        .writeBlob(key)
        .writeRaw(row)
        .toBytes();
  }

  public static byte[] remove(long timestamp, long epoch, byte[] key) {
    return Message.start(Message.PARENT_REMOVE, timestamp, key.length + 16)
        .writeLong(epoch)
        .writeBlob(key)
        .toBytes();
  }
}
