package dev.joinery.kernel.state;

import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;
import java.util.Arrays;
import java.util.List;
import java.util.function.Consumer;

/**
 * Entries of a map as what each has otherwise than the one before: keys and rows of one kind have
 * most bytes alike, at the same places.
 *
 * <p>An entry is its lengths, where they are others, and then runs: in one byte how many bytes are
 * those of the entry before (four bits, zeros where that has ended), and how many follow (four bits).
 */
final class PackedEntries {
  private static final int MOST = 15;
  private static final byte[] NOTHING = {};

  private PackedEntries() {}

  static void write(List<EntryMap.Entry> entries, ByteWriter out) {
    byte[] before = NOTHING;
    int keyBefore = -1;
    for (EntryMap.Entry entry : entries) {
      int key = entry.key().length();
      byte[] bytes = new byte[key + entry.value().length()];
      copy(entry.key(), bytes, 0);
      copy(entry.value(), bytes, key);
      boolean alike = key == keyBefore && bytes.length == before.length;
      out.writeByte(alike ? 1 : 0);
      if (!alike) {
        out.writeVarInt(key).writeVarInt(bytes.length - key);
      }
      writeRuns(before, bytes, out);
      before = bytes;
      keyBefore = key;
    }
  }

  private static void copy(Slice from, byte[] to, int at) {
    System.arraycopy(from.array(), from.offset(), to, at, from.length());
  }

  private static void writeRuns(byte[] before, byte[] bytes, ByteWriter out) {
    byte[] known = before.length < bytes.length ? Arrays.copyOf(before, bytes.length) : before;
    int at = 0;
    while (at < bytes.length) {
      int begin = at;
      int end = Math.min(bytes.length, at + MOST);
      while (at < end && bytes[at] == known[at]) {
        at++;
      }
      int other = at;
      end = Math.min(bytes.length, at + MOST);
      while (at < end && bytes[at] != known[at]) {
        at++;
      }
      out.writeByte(other - begin << 4 | at - other).writeRaw(bytes, other, at - other);
    }
  }

  /** Reads {@code count} entries; each stands on bytes of its own. */
  static void read(ByteReader in, int count, Consumer<EntryMap.Entry> taker) {
    byte[] before = NOTHING;
    int key = 0;
    int length = 0;
    for (int i = 0; i < count; i++) {
      if (in.readByte() == 0) {
        key = in.readVarInt();
        length = key + in.readVarInt();
      }
      byte[] bytes = new byte[length];
      readRuns(in, before, bytes);
      taker.accept(
          new EntryMap.Entry(new Slice(bytes, 0, key), new Slice(bytes, key, length - key)));
      before = bytes;
    }
  }

  private static void readRuns(ByteReader in, byte[] before, byte[] bytes) {
    System.arraycopy(before, 0, bytes, 0, Math.min(before.length, bytes.length));
    for (int at = 0; at < bytes.length; ) {
      int run = in.readByte() & 0xff;
      at += run >>> 4;
      int end = at + (run & MOST);
      while (at < end) {
        bytes[at++] = (byte) in.readByte();
      }
    }
  }
}
