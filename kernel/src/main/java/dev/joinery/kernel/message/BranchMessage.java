package dev.joinery.kernel.message;

import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;

/**
 * What a Match or a ToOne tells a Fold about some of its embeds: sections, each with a total,
 * aggregates, and entries put or removed.
 *
 * <p>All sections are said to one parent under one epoch. A section whose epoch the Fold has not
 * seen replaces the whole branch; one with the epoch it has changes it. Large windows travel in
 * several messages of one epoch. The same sections can be sent to many parents.
 */
public final class BranchMessage {
  public static final int MAX_BYTES = 1 << 20;

  private final ByteWriter sections = new ByteWriter(256);
  private int begun;

  /** One embed's part of a message, as a Fold reads it; {@code body} is for the branch. */
  public record Section(int branch, long epoch, ByteReader body) {}

  /** {@code aggregates} is empty where there are none, or nothing to aggregate. */
  public BranchMessage begin(int branch, long total, Slice aggregates) {
    begun = sections.size();
    sections.writeInt(0).writeVarInt(branch).writeVarLong(total).writeBlob(aggregates);
    return this;
  }

  public BranchMessage put(Slice key, Slice value) {
    sections.writeByte(1).writeBlob(key).writeBlob(value);
    return this;
  }

  public BranchMessage remove(Slice key) {
    sections.writeByte(0).writeBlob(key);
    return this;
  }

  public BranchMessage end() {
    sections.setInt(begun, sections.size() - begun - Integer.BYTES);
    return this;
  }

  public boolean isFull() {
    return sections.size() >= MAX_BYTES;
  }

  boolean isEmpty() {
    return sections.size() == 0;
  }

  public int size() {
    return sections.size();
  }

  /** The message to a parent that was announced under {@code epoch}. */
  public byte[] toBytes(long timestamp, long epoch) {
    return new ByteWriter(sections.size() + 17)
        .writeByte(Message.BRANCH)
        .writeLong(timestamp)
        .writeLong(epoch)
        .writeRaw(sections.array(), 0, sections.size())
        .toBytes();
  }

  /** Reads the sections of a message one after the other. */
  public static final class Sections {
    private final ByteReader in;
    private final long epoch;

    public Sections(byte[] message) {
      in = Message.body(message);
      epoch = in.readLong();
    }

    public boolean hasNext() {
      return in.hasMore();
    }

    public Section next() {
      ByteReader section = new ByteReader(in.readSlice(in.readInt()));
      return new Section(section.readVarInt(), epoch, section);
    }
  }
}
