package dev.joinery.kernel.message;

import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;

/**
 * An event on its way through the steps of a stream: its message, read and written.
 *
 * @param correction whether it was sent before, with other columns
 * @param passing whether a newer one of its identity came in the same batch, so that the next node
 *     answers it if it can, and remembers nothing of it
 * @param timestamp the batch's, in microseconds
 * @param version of what is sent for it
 * @param place where it comes from; null where its identity comes once
 * @param key its identity, a binary row
 * @param row its columns as the steps so far left them
 */
public record Event(
    boolean correction,
    boolean passing,
    long timestamp,
    long version,
    Place place,
    Slice key,
    Slice row) {
  private static final int FLAGS_AT = 9;
  private static final int CORRECTION = 1;

  /** The message holds the version; else it is the timestamp. */
  private static final int VERSION = 2;

  private static final int PLACED = 4;
  private static final int PASSING = 8;

  /**
   * Where an event comes from; of two with one identity the higher one is the newer.
   *
   * @param arrived whether it came with this batch; a node kept it from an earlier one if not
   * @param log the number of its relation; two logs have no order of their own
   * @param major with {@code minor} where it stands in the log; 0 once it was kept
   */
  public record Place(boolean arrived, int log, long major, long minor)
      implements Comparable<Place> {
    public static final int BYTES = 21;

    public Place kept() {
      return arrived ? new Place(false, log, 0, 0) : this;
    }

    @Override
    public int compareTo(Place other) {
      int by = Boolean.compare(arrived, other.arrived);
      by = by != 0 ? by : Integer.compare(log, other.log);
      by = by != 0 ? by : Long.compare(major, other.major);
      return by != 0 ? by : Long.compare(minor, other.minor);
    }

    public void write(ByteWriter out) {
      out.writeByte(arrived ? 1 : 0).writeInt(log).writeLong(major).writeLong(minor);
    }

    public static Place read(ByteReader in) {
      return new Place(in.readByte() == 1, in.readInt(), in.readLong(), in.readLong());
    }
  }

  public static Event read(byte[] message) {
    long timestamp = Message.timestamp(message);
    ByteReader in = Message.body(message);
    int flags = in.readByte();
    long version = (flags & VERSION) != 0 ? in.readLong() : timestamp;
    boolean correction = (flags & CORRECTION) != 0;
    boolean passing = (flags & PASSING) != 0;
    Place place = (flags & PLACED) != 0 ? Place.read(in) : null;
    return new Event(correction, passing, timestamp, version, place, in.readBlob(), in.rest());
  }

  /** The message of an event that is passing. */
  public static byte[] passing(byte[] message) {
    byte[] marked = message.clone();
    marked[FLAGS_AT] |= PASSING;
    return marked;
  }

  /** The same event with other columns. */
  public Event carrying(Slice columns) {
    return new Event(correction, passing, timestamp, version, place, key, columns);
  }

  public Event corrected(long now, long otherVersion) {
    return new Event(true, false, now, otherVersion, place, key, row);
  }

  /** Whether it is newer than another of the same identity; without places the rows decide. */
  public boolean isLaterThan(Event other) {
    boolean placed = place != null && other.place != null;
    int byPlace = placed ? place.compareTo(other.place) : 0;
    return byPlace != 0 ? byPlace > 0 : row.compareTo(other.row) > 0;
  }

  /** The message that carries {@code columns} instead of its own. */
  public byte[] message(Slice columns) {
    boolean told = version != timestamp;
    ByteWriter out = new ByteWriter(key.length() + columns.length() + 48);
    int flags = (correction ? CORRECTION : 0) | (told ? VERSION : 0) | (place != null ? PLACED : 0);
    out.writeByte(Message.EVENT).writeLong(timestamp).writeByte(flags);
    if (told) {
      out.writeLong(version);
    }
    if (place != null) {
      place.write(out);
    }
    return out.writeBlob(key).writeRaw(columns).toBytes();
  }

  /** What {@link #kept} reads. */
  public void write(ByteWriter out) {
    int log = place == null ? 0 : place.log() + 1;
    out.writeVarInt(log << 1 | (correction ? 1 : 0)).writeLong(version).writeRaw(row);
  }

  /** Reads an event that a node kept under its identity. */
  public static Event kept(Slice key, ByteReader in, long now) {
    int head = in.readVarInt();
    Place place = head < 2 ? null : new Place(false, (head >> 1) - 1, 0, 0);
    long version = Math.max(now, in.readLong());
    return new Event((head & 1) == 1, false, now, version, place, key, in.rest());
  }
}
