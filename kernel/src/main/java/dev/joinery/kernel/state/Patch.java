package dev.joinery.kernel.state;

import dev.joinery.kernel.bytes.ByteWriter;
import java.util.Arrays;

/**
 * What makes one value of another: runs of bytes taken from the one before, and what is new between
 * them; as large as what changed, not as the value.
 *
 * <p>Most changes leave all but a few places as they are, so what is the same at both ends, and
 * right behind a place that changed, is found without a search. Only where a value changed in
 * several places at once are blocks of the old one looked up by their content (as rsync does:
 * Tridgell, 1996).
 *
 * <p>A patch says how long the value is that it belongs to, and which one after it it is;
 * {@link Pieces} reads it.
 */
final class Patch {
  /** Runs of fewer bytes are not worth the words that tell of them. */
  private static final int RUN = 16;
  private static final int NEAR = 32;

  private final byte[] before;
  private final byte[] after;
  private final int beforeEnd;
  private final int afterEnd;
  private final int most;
  private final ByteWriter out;
  private int[] blocks;
  private int foundBefore;
  private int foundAfter;

  private Patch(byte[] before, byte[] after, int tail, int most) {
    this.before = before;
    this.after = after;
    this.beforeEnd = before.length - tail;
    this.afterEnd = after.length - tail;
    this.most = most;
    this.out = new ByteWriter(256);
  }

  /**
   * Returns what makes {@code after} of {@code before}, which it does not equal; null where that
   * would take more than {@code most} bytes.
   *
   * @param number how many patches stand behind the value already
   */
  static byte[] between(byte[] before, byte[] after, int number, int most) {
    int shorter = Math.min(before.length, after.length);
    int head = Arrays.mismatch(before, 0, shorter, after, 0, shorter);
    head = head < 0 ? shorter : head;
    int tail = sameAtEnd(before, after, shorter - head);
    Patch patch = new Patch(before, after, tail, most);
    patch.out.writeByte(number).writeVarInt(before.length).writeVarInt(after.length);
    return patch.write(head) ? patch.out.toBytes() : null;
  }

  private boolean write(int head) {
    int at = head;
    int beforeAt = head;
    if (head > 0) {
      out.writeVarInt(0).writeVarInt(0).writeVarInt(head);
    }
    while (at < afterEnd && find(beforeAt, at)) {
      int length = sameFrom(foundBefore, foundAfter);
      out.writeVarInt(foundAfter - at).writeRaw(after, at, foundAfter - at);
      out.writeVarInt(foundBefore).writeVarInt(length);
      beforeAt = foundBefore + length;
      at = foundAfter + length;
    }
    if (out.size() + afterEnd - at > most) {
      return false;
    }
    out.writeVarInt(afterEnd - at).writeRaw(after, at, afterEnd - at);
    out.writeVarInt(beforeEnd).writeVarInt(before.length - beforeEnd);
    return out.size() <= most;
  }

  /** Finds where both are the same again, at or behind a place of the new value. */
  private boolean find(int beforeAt, int at) {
    int room = Math.min(beforeEnd - beforeAt, afterEnd - at) - RUN;
    for (int i = 0; i <= Math.min(room, NEAR); i++) {
      if (isRun(beforeAt + i, at + i)) {
        foundBefore = beforeAt + i;
        foundAfter = at + i;
        return true;
      }
    }
    return room > 0 && findBlock(at);
  }

  private boolean findBlock(int from) {
    if (blocks == null) {
      blocks = blocksOf(before);
    }
    int end = Math.min(afterEnd - RUN, from + most - out.size());
    for (int at = from; at <= end; at++) {
      int block = blocks[placeOf(after, at, blocks.length)] - 1;
      if (block >= 0 && isRun(block, at)) {
        while (block > 0 && at > from && before[block - 1] == after[at - 1]) {
          block--;
          at--;
        }
        foundBefore = block;
        foundAfter = at;
        return true;
      }
    }
    return false;
  }

  /** Where blocks begin, and one; by their content. */
  private static int[] blocksOf(byte[] bytes) {
    int[] blocks = new int[Integer.highestOneBit(bytes.length / (RUN / 2) + 1) * 2];
    for (int at = (bytes.length / RUN - 1) * RUN; at >= 0; at -= RUN) {
      blocks[placeOf(bytes, at, blocks.length)] = at + 1;
    }
    return blocks;
  }

  private static int placeOf(byte[] bytes, int at, int places) {
    long mixed = longAt(bytes, at) * 0x9E3779B97F4A7C15L + longAt(bytes, at + Long.BYTES);
    mixed *= 0xC2B2AE3D27D4EB4FL;
    return (int) (mixed >>> 40) & places - 1;
  }

  private boolean isRun(int beforeAt, int at) {
    return longAt(before, beforeAt) == longAt(after, at)
        && longAt(before, beforeAt + Long.BYTES) == longAt(after, at + Long.BYTES);
  }

  private static long longAt(byte[] bytes, int at) {
    return (long) ByteWriter.LONGS.get(bytes, at);
  }

  private int sameFrom(int beforeAt, int at) {
    int room = Math.min(before.length - beforeAt, afterEnd - at);
    int same = Arrays.mismatch(before, beforeAt, beforeAt + room, after, at, at + room);
    return same < 0 ? room : same;
  }

  private static int sameAtEnd(byte[] one, byte[] other, int most) {
    int same = 0;
    while (same + Long.BYTES <= most
        && longAt(one, one.length - same - Long.BYTES)
            == longAt(other, other.length - same - Long.BYTES)) {
      same += Long.BYTES;
    }
    while (same < most && one[one.length - same - 1] == other[other.length - same - 1]) {
      same++;
    }
    return same;
  }
}
