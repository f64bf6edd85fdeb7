package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.Marks;
import dev.joinery.kernel.message.RawChange;

/**
 * A relation's row as a node remembers it: the newest version by position, or its tombstone.
 *
 * <p>Source: interface.md §2.1 and "Position" in §5. {@code changed} is the number of the last
 * content change; it rises with every one, and serves as the row's epoch.
 */
public final class RowCell {
  private static final int EXISTS = 1;
  private static final int POSITIONED = 2;
  private static final int AFTER_DELETE = 4;
  private static final int JUDGED = 8;
  private static final int ANEW = 16;

  public boolean exists;
  boolean positioned;
  /** The last record of this key in the log was a delete, applied or stale. */
  boolean afterDelete;

  public boolean known;
  public long position;
  long major;
  long minor;
  long epoch;
  long deletedAt;

  /**
   * The highest watermark by which a change of the row was judged, and so by which windows are
   * forgotten to it; {@link Marks#UNKNOWN} where nothing asks.
   */
  long watermark = Marks.UNKNOWN;

  /**
   * The epoch under which the row began that has the key now; 0 where no other was forgotten to it
   * whose state may still be there.
   */
  long began;

  public Slice row = Slice.EMPTY;

  /** Reads a cell; an absent one is a row that nobody has heard of. */
  public static RowCell read(Slice bytes) {
    RowCell cell = new RowCell();
    if (bytes == null || bytes.isEmpty()) {
      return cell;
    }
    ByteReader in = new ByteReader(bytes);
    int flags = in.readByte();
    cell.known = true;
    cell.exists = (flags & EXISTS) != 0;
    cell.positioned = (flags & POSITIONED) != 0;
    cell.afterDelete = (flags & AFTER_DELETE) != 0;
    cell.position = cell.positioned ? in.readVarLong() : 0;
    cell.major = in.readVarLong();
    cell.minor = in.readVarLong();
    cell.epoch = in.readLong();
    cell.watermark = (flags & JUDGED) != 0 ? in.readLong() : Marks.UNKNOWN;
    cell.began = (flags & ANEW) != 0 ? in.readLong() : 0;
    if (cell.exists) {
      cell.row = in.rest();
    } else {
      cell.deletedAt = in.readLong();
    }
    return cell;
  }

  /** Whether the source told {@link #position}. */
  public boolean hasPosition() {
    return positioned;
  }

  /** The first part of its place in the log. */
  public long major() {
    return major;
  }

  /** The second part of its place in the log. */
  public long minor() {
    return minor;
  }

  void write(ByteWriter out) {
    boolean judged = watermark != Marks.UNKNOWN;
    out.writeByte(
        (exists ? EXISTS : 0)
            | (positioned ? POSITIONED : 0)
            | (afterDelete ? AFTER_DELETE : 0)
            | (judged ? JUDGED : 0)
            | (began != 0 ? ANEW : 0));
    if (positioned) {
      out.writeVarLong(position);
    }
    out.writeVarLong(major).writeVarLong(minor).writeLong(epoch);
    if (judged) {
      out.writeLong(watermark);
    }
    if (began != 0) {
      out.writeLong(began);
    }
    if (exists) {
      out.writeRaw(row);
    } else {
      out.writeLong(deletedAt);
    }
  }

  public byte[] toBytes() {
    ByteWriter out = new ByteWriter(row.length() + 40);
    write(out);
    return out.toBytes();
  }

  /** Forgets a delete that is older than the retention. */
  void expire(long timestamp, long retentionMicros) {
    if (known && !exists && timestamp - deletedAt > retentionMicros) {
      known = false;
      positioned = false;
      afterDelete = false;
      watermark = Marks.UNKNOWN;
    }
  }

  /** Forgets the row, and has another begin under the same key. */
  void beginAnew(long timestamp) {
    epoch = Math.max(timestamp, epoch + 1);
    began = epoch;
    known = false;
    exists = false;
    positioned = false;
    afterDelete = false;
    row = Slice.EMPTY;
  }

  /** Where a change stands against what is stored. */
  enum Standing {
    NEWER,
    STALE,
    REPEAT
  }

  Standing standing(RawChange change) {
    if (!known) {
      return Standing.NEWER;
    }
    if (change.positioned() && positioned && change.position() != position) {
      return change.position() > position ? Standing.NEWER : Standing.STALE;
    }
    int place = Long.compare(change.major(), major);
    place = place != 0 ? place : Long.compare(change.minor(), minor);
    if (place == 0) {
      return Standing.REPEAT;
    }
    return place > 0 ? Standing.NEWER : Standing.STALE;
  }

  /** Takes over the position of an applied change; a position of the source never falls. */
  void advance(RawChange change) {
    known = true;
    if (change.positioned()) {
      position = positioned ? Math.max(position, change.position()) : change.position();
      positioned = true;
    }
    major = change.major();
    minor = change.minor();
  }
}
