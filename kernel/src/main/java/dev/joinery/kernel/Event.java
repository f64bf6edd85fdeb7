package dev.joinery.kernel;

/**
 * An event on its way through the steps of a stream: its message, read and written.
 *
 * @param correction whether it was sent before, with other columns
 * @param timestamp the batch's, in microseconds
 * @param version of what is sent for it
 * @param place where it stands in the log; null where no node asks, and once it was kept
 * @param key its identity, a binary row
 * @param row its columns as the steps so far left them
 */
record Event(
    boolean correction, long timestamp, long version, Place place, Slice key, Slice row) {
  private static final int CORRECTION = 1;

  /** The message holds the version; else it is the timestamp. */
  private static final int VERSION = 2;

  private static final int PLACED = 4;

  /** A place in a log, compared with others of the same log. */
  record Place(long major, long minor) implements Comparable<Place> {
    @Override
    public int compareTo(Place other) {
      int byMajor = Long.compare(major, other.major);
      return byMajor != 0 ? byMajor : Long.compare(minor, other.minor);
    }
  }

  static Event read(byte[] message) {
    long timestamp = Message.timestamp(message);
    ByteReader in = Message.body(message);
    int flags = in.readByte();
    long version = (flags & VERSION) != 0 ? in.readLong() : timestamp;
    boolean correction = (flags & CORRECTION) != 0;
    Place place = (flags & PLACED) != 0 ? new Place(in.readLong(), in.readLong()) : null;
    return new Event(correction, timestamp, version, place, in.readBlob(), in.rest());
  }

  /** The same event with other columns. */
  Event carrying(Slice columns) {
    return new Event(correction, timestamp, version, place, key, columns);
  }

  /** The same event, kept until now; its version is not below that of any other of now. */
  Event at(long now) {
    return new Event(correction, now, Math.max(now, version), null, key, row);
  }

  Event corrected(long now, long otherVersion) {
    return new Event(true, now, otherVersion, null, key, row);
  }

  /** Whether it was told after another of the same identity; one that was kept came before. */
  boolean isLaterThan(Event other) {
    if (place == null || other.place == null || place.equals(other.place)) {
      return (place != null && other.place == null)
          || ((place == null) == (other.place == null) && row.compareTo(other.row) > 0);
    }
    return place.compareTo(other.place) > 0;
  }

  /** The message that carries {@code columns} instead of its own. */
  byte[] message(Slice columns) {
    boolean told = version != timestamp;
    ByteWriter out = new ByteWriter(key.length() + columns.length() + 40);
    int flags = (correction ? CORRECTION : 0) | (told ? VERSION : 0) | (place != null ? PLACED : 0);
    out.writeByte(Message.EVENT).writeLong(timestamp).writeByte(flags);
    if (told) {
      out.writeLong(version);
    }
    if (place != null) {
      out.writeLong(place.major()).writeLong(place.minor());
    }
    return out.writeBlob(key).writeRaw(columns).toBytes();
  }

  /** What {@link #kept} reads. */
  void write(ByteWriter out) {
    out.writeByte(correction ? 1 : 0).writeLong(version).writeRaw(row);
  }

  /** Reads an event that a node kept under its identity. */
  static Event kept(Slice key, ByteReader in, long now) {
    boolean correction = in.readByte() == 1;
    long version = Math.max(now, in.readLong());
    return new Event(correction, now, version, null, key, in.rest());
  }
}
