package dev.joinery.kernel.message;

import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;

/**
 * What a sink holds of a key before a document or a tombstone and after it, as hashes; sent along
 * with either where it is known.
 *
 * @param held whether it held a document, and {@code before} the hash of that
 * @param holds whether it is to hold one, and {@code after} the hash of that
 */
public record Replacement(boolean held, long before, boolean holds, long after) {
  /** In place of one where the sink may hold what is not known. */
  public static final Slice UNKNOWN = Slice.EMPTY;

  private static final int HELD = 1;
  private static final int HOLDS = 2;

  /** Reads what {@link #toBytes} gave. */
  public static Replacement read(Slice told) {
    ByteReader in = new ByteReader(told);
    int flags = in.readByte();
    boolean held = (flags & HELD) != 0;
    boolean holds = (flags & HOLDS) != 0;
    long before = held ? in.readLong() : 0;
    return new Replacement(held, before, holds, holds ? in.readLong() : 0);
  }

  /** Never {@link #UNKNOWN}. */
  public Slice toBytes() {
    ByteWriter out = new ByteWriter(1 + 2 * Long.BYTES);
    out.writeByte((held ? HELD : 0) | (holds ? HOLDS : 0));
    if (held) {
      out.writeLong(before);
    }
    if (holds) {
      out.writeLong(after);
    }
    return Slice.of(out.toBytes());
  }
}
