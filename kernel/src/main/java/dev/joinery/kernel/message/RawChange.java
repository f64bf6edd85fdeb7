package dev.joinery.kernel.message;

import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.Slice;
import java.util.Arrays;

/**
 * One decoded change on its way to a row: what it does, where it stands in its log, what it sets; in
 * the order of {@link Message#raw}.
 *
 * @param snapshot as of {@link Change}, like {@code newest} and {@code moved}
 */
public record RawChange(
    int relation,
    int role,
    int op,
    boolean positioned,
    boolean snapshot,
    long newest,
    long moved,
    long position,
    long major,
    long minor,
    long[] absent,
    Slice row)
    implements Comparable<RawChange> {

  /** The {@code minor} of a change that stands nowhere in its batch. */
  public static final long ORDERLESS = Long.MIN_VALUE;

  /** A change where it was decoded, with its row. */
  public static RawChange of(int relation, int role, Change change, Slice row) {
    return new RawChange(
        relation,
        role,
        change.op(),
        change.positioned(),
        change.snapshot(),
        change.newest(),
        change.moved(),
        change.position(),
        change.major(),
        change.minor(),
        change.absent(),
        row);
  }

  public static RawChange read(byte[] message) {
    return read(Message.body(message));
  }

  public static RawChange read(ByteReader in) {
    int relation = in.readVarInt();
    int role = in.readByte();
    int op = in.readByte();
    int told = in.readByte();
    return new RawChange(
        relation,
        role,
        op,
        (told & Message.POSITIONED) != 0,
        (told & Message.SNAPSHOT) != 0,
        (told & Message.TIMED) != 0 ? in.readLong() : Marks.UNKNOWN,
        (told & Message.MOVED) != 0 ? in.readLong() : Marks.UNKNOWN,
        in.readVarLong(),
        in.readVarLong(),
        in.readVarLong(),
        readAbsent(in),
        in.rest());
  }

  private static long[] readAbsent(ByteReader in) {
    int words = in.readVarInt();
    long[] absent = words == 0 ? null : new long[words];
    for (int i = 0; i < words; i++) {
      absent[i] = in.readLong();
    }
    return absent;
  }

  public boolean isParent() {
    return (role & Message.ROLE_PARENT) != 0;
  }

  public boolean isPrimary() {
    return (role & Message.ROLE_PRIMARY) != 0;
  }

  public boolean isAbsent(int column) {
    return absent != null && (absent[column >> 6] >>> (column & 63) & 1) != 0;
  }

  /** True where another change of the same key stands at the same place and is not the same. */
  public boolean isTorn(RawChange other) {
    return isErasure() == other.isErasure()
        && major == other.major
        && minor == other.minor
        && (op != other.op || !row.equals(other.row) || !Arrays.equals(absent, other.absent));
  }

  /** True where it stands nowhere in its batch, as of a frame without positions. */
  public boolean isOrderless() {
    return minor == ORDERLESS;
  }

  public boolean isErasure() {
    return op == Message.OP_ERASE;
  }

  /**
   * Log order. A key change stands in the log once as a delete and once as an upsert. An erasure
   * stands in no log, and comes after all that its batch brings.
   */
  @Override
  public int compareTo(RawChange other) {
    if (isErasure() != other.isErasure()) {
      return isErasure() ? 1 : -1;
    }
    int byMajor = Long.compare(major, other.major);
    int byMinor = byMajor != 0 ? byMajor : Long.compare(minor, other.minor);
    return byMinor != 0 ? byMinor : row.compareTo(other.row);
  }
}
