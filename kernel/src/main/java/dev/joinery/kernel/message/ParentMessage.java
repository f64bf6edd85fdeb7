package dev.joinery.kernel.message;

import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.Slice;

/**
 * A parent announced at a join value, or gone from it; its row travels where it is assembled.
 *
 * @param moved whether it stood at another value before, or stands at another now
 */
public record ParentMessage(long epoch, Slice key, boolean remove, boolean moved, Slice row) {
  public static ParentMessage read(byte[] message) {
    ByteReader in = Message.body(message);
    int kind = Message.kind(message);
    boolean remove = kind == Message.PARENT_REMOVE || kind == Message.PARENT_LEFT;
    boolean moved = kind == Message.PARENT_CAME || kind == Message.PARENT_LEFT;
    return new ParentMessage(in.readLong(), in.readBlob(), remove, moved, in.rest());
  }

  /**
   * The same under an epoch that is not before a known one: an append relation's row that comes again
   * has the time of its batch, of a clock that may have been set back.
   */
  public ParentMessage notBefore(long known) {
    return epoch >= known ? this : new ParentMessage(known, key, remove, moved, row);
  }

  public static byte[] put(long timestamp, long epoch, byte[] key, Slice row) {
    return put(Message.PARENT_PUT, timestamp, epoch, key, row);
  }

  /** A put of one that stood at another join value before. */
  public static byte[] came(long timestamp, long epoch, byte[] key, Slice row) {
    return put(Message.PARENT_CAME, timestamp, epoch, key, row);
  }

  private static byte[] put(int kind, long timestamp, long epoch, byte[] key, Slice row) {
    return Message.start(kind, timestamp, key.length + row.length() + 16)
        .writeLong(epoch)
        .writeBlob(key)
        .writeRaw(row)
        .toBytes();
  }

  public static byte[] remove(long timestamp, long epoch, byte[] key) {
    return remove(Message.PARENT_REMOVE, timestamp, epoch, key);
  }

  /** A remove of one that stands at another join value now. */
  public static byte[] left(long timestamp, long epoch, byte[] key) {
    return remove(Message.PARENT_LEFT, timestamp, epoch, key);
  }

  private static byte[] remove(int kind, long timestamp, long epoch, byte[] key) {
    return Message.start(kind, timestamp, key.length + 16)
        .writeLong(epoch)
        .writeBlob(key)
        .toBytes();
  }
}
