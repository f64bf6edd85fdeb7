package dev.joinery.kernel.egress;

import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Hash;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.Event;
import dev.joinery.kernel.render.ByteSink;

/**
 * Lists the lines of a part whose keys may come again in the same batch: where each stands, a hash
 * of its key, and the place that says which of two is newer.
 */
final class LineIndex {
  private final ByteWriter out = new ByteWriter(1024);
  private long skipped;

  /**
   * One listed line.
   *
   * @param from where its first byte stands in the part
   */
  record Line(long hash, long from, int size, int keyFrom, int keyTo, Event.Place place) {}

  /** Takes the next line of the part; {@code place} is empty where its key comes once. */
  void add(ByteSink line, int keyFrom, int keyTo, Slice place) {
    if (place.isEmpty()) {
      skipped += line.size();
      return;
    }
    out.writeLong(Hash.longOf(line.array(), keyFrom, keyTo - keyFrom)).writeVarLong(skipped);
    out.writeVarInt(line.size()).writeVarInt(keyFrom).writeVarInt(keyTo).writeRaw(place);
    skipped = 0;
  }

  boolean isEmpty() {
    return out.size() == 0;
  }

  byte[] toBytes() {
    return out.toBytes();
  }

  /** Reads what was listed, in the order of the part. */
  static final class Reader {
    private final ByteReader in;
    private long end;

    Reader(byte[] lines) {
      this.in = new ByteReader(lines);
    }

    boolean hasNext() {
      return in.hasMore();
    }

    Line next() {
      long hash = in.readLong();
      long from = end + in.readVarLong();
      int size = in.readVarInt();
      end = from + size;
      return new Line(hash, from, size, in.readVarInt(), in.readVarInt(), Event.Place.read(in));
    }
  }
}
