package dev.joinery.kernel.message;

import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;

/**
 * What a FanOut tells a Gather or a Fold of the children under its join value: how many more they
 * are, whether the value became hot or cold, and entries put or removed.
 *
 * <p>Large ones travel in several messages, of which the first alone tells the difference. The same
 * message can be sent to many.
 */
public final class FannedMessage {
  public static final int MAX_BYTES = BranchMessage.MAX_BYTES;

  private final ByteWriter body;

  /** What became of a join value for those who are told. */
  public enum Heat {
    SAME,
    HOT,
    COLD
  }

  /**
   * @param branch that of a Fold
   * @param value the code of the join value
   * @param more below zero for fewer
   */
  public FannedMessage(int branch, Slice value, long more, Heat heat) {
    body = new ByteWriter(256).writeVarInt(branch).writeBlob(value);
    body.writeByte(heat.ordinal()).writeLong(more);
  }

  public void put(Slice key, Child child) {
    body.writeByte(1).writeBlob(key).writeBlob(child.encoded());
  }

  public void remove(Slice key, Slice order) {
    body.writeByte(0).writeBlob(key).writeBlob(order);
  }

  public boolean isFull() {
    return body.size() >= MAX_BYTES;
  }

  public byte[] toBytes(long timestamp) {
    return Message.start(Message.FANNED, timestamp, body.size())
        .writeRaw(body.array(), 0, body.size())
        .toBytes();
  }

  /** An entry; {@code row} is null for a remove, which has no flags. */
  public record Entry(Slice key, Slice order, int flags, Slice row) {}

  /** Reads a message, its entries one after the other. */
  public static final class Reader {
    private static final Heat[] HEATS = Heat.values();

    private final int branch;
    private final Slice value;
    private final Heat heat;
    private final long more;
    private final ByteReader in;

    public Reader(byte[] message) {
      in = Message.body(message);
      branch = in.readVarInt();
      value = in.readBlob();
      heat = HEATS[in.readByte()];
      more = in.readLong();
    }

    public int branch() {
      return branch;
    }

    public Slice value() {
      return value;
    }

    public Heat heat() {
      return heat;
    }

    public long more() {
      return more;
    }

    public boolean hasNext() {
      return in.hasMore();
    }

    public Entry next() {
      boolean put = in.readByte() == 1;
      Slice key = in.readBlob();
      if (!put) {
        return new Entry(key, in.readBlob(), 0, null);
      }
      Child child = Child.read(in.readBlob());
      return new Entry(key, child.order(), child.flags(), child.row());
    }
  }
}
