package dev.joinery.kernel.message;

import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;

/**
 * An event of a log whose events have numbers, on its way to what they make, and as that keeps it.
 *
 * @param since from when it waits, where it has to: its time in microseconds; {@link Marks#UNKNOWN}
 *     for none
 * @param major with {@code minor}, its place in the log
 * @param row as products see it
 */
public record NumberedEvent(long number, long since, long major, long minor, Slice row) {
  public static NumberedEvent read(byte[] message) {
    ByteReader in = Message.body(message);
    return of(in.readLong(), in);
  }

  /** Reads what {@link #kept} wrote. */
  public static NumberedEvent of(long number, Slice kept) {
    return of(number, new ByteReader(kept));
  }

  private static NumberedEvent of(long number, ByteReader in) {
    return new NumberedEvent(
        number, in.readLong(), in.readVarLong(), in.readVarLong(), in.rest());
  }

  public byte[] toMessage(long timestamp) {
    ByteWriter out = Message.start(Message.NUMBERED, timestamp, row.length() + 36);
    write(out.writeLong(number));
    return out.toBytes();
  }

  /** The same without its number. */
  public Slice kept() {
    ByteWriter out = new ByteWriter(row.length() + 28);
    write(out);
    return Slice.of(out.toBytes());
  }

  private void write(ByteWriter out) {
    out.writeLong(since).writeVarLong(major).writeVarLong(minor).writeRaw(row);
  }

  /** Compares places in the log. */
  public int comparePlace(NumberedEvent other) {
    int byMajor = Long.compare(major, other.major);
    return byMajor != 0 ? byMajor : Long.compare(minor, other.minor);
  }

  /** True where it stands nowhere in its batch, as of a frame without positions. */
  public boolean isOrderless() {
    return minor == RawChange.ORDERLESS;
  }

  /** The same event, waiting since an earlier time. */
  public NumberedEvent since(long time) {
    return new NumberedEvent(number, time, major, minor, row);
  }
}
