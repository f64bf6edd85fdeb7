package dev.joinery.kernel;

/**
 * What a Match or a Lookup tells a Fold about one of its embeds: a total, aggregates, and entries
 * put or removed.
 *
 * <p>A message whose epoch the Fold has not seen replaces the whole branch; one with the epoch it
 * has changes it. Large windows travel in several messages of one epoch.
 */
final class BranchMessage {
  static final int MAX_BYTES = 1 << 20;

  private final ByteWriter out;
  private int entries;

  /** {@code aggregates} is empty where there are none, or nothing to aggregate. */
  BranchMessage(long timestamp, int branch, long epoch, long total, Slice aggregates) {
    out = new ByteWriter(256);
    out.writeByte(Message.BRANCH).writeLong(timestamp).writeVarInt(branch).writeVarLong(epoch);
    out.writeVarLong(total).writeBlob(aggregates);
  }

  void put(Slice key, Slice value) {
    entries++;
    out.writeByte(1).writeBlob(key).writeBlob(value);
  }

  void remove(Slice key) {
    entries++;
    out.writeByte(0).writeBlob(key);
  }

  boolean isFull() {
    return out.size() >= MAX_BYTES;
  }

  int entries() {
    return entries;
  }

  byte[] toBytes() {
    return out.toBytes();
  }

  static byte[] empty(long timestamp, int branch, long epoch) {
    return new BranchMessage(timestamp, branch, epoch, 0, Slice.EMPTY).toBytes();
  }
}
