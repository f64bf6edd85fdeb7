package dev.joinery.kernel.bytes;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.hash.Murmur3_x86_32;

/**
 * The hash by which Spark gives bytes to a partition, whatever their number; remembers nothing.
 *
 * <p>Each step of this hash (MurmurHash3: Appleby, 2011) can be undone, so bytes can be ended in a
 * way that gives them any hash.
 */
final class PartitionHash {
  private static final int SEED = 42;
  private static final int WORD_FIRST = 0xcc9e2d51;
  private static final int WORD_SECOND = 0x1b873593;
  private static final int ADDED = 0xe6546b64;
  private static final int END_FIRST = 0x85ebca6b;
  private static final int END_SECOND = 0xc2b2ae35;

  private PartitionHash() {}

  static int of(byte[] bytes) {
    return Murmur3_x86_32.hashUnsafeBytes(
        bytes, Platform.BYTE_ARRAY_OFFSET, bytes.length, SEED);
  }

  /** Sets the last four of {@code bytes}, whole words in all, so that they have a hash. */
  static void end(byte[] bytes, int hash) {
    int begun = bytes.length - Integer.BYTES;
    int before = begun(bytes, begun);
    int after = withoutEnd(hash, bytes.length);
    int mixed = Integer.rotateRight((after - ADDED) * inverse(5), 13) ^ before;
    int word =
        Integer.rotateRight(mixed * inverse(WORD_SECOND), 15) * inverse(WORD_FIRST);
    ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).putInt(begun, word);
  }

  /** The hash of whole words, before it is ended. */
  private static int begun(byte[] bytes, int length) {
    int whole =
        Murmur3_x86_32.hashUnsafeBytes(bytes, Platform.BYTE_ARRAY_OFFSET, length, SEED);
    return withoutEnd(whole, length);
  }

  private static int withoutEnd(int hash, int length) {
    int undone = hash;
    undone ^= undone >>> 16;
    undone *= inverse(END_SECOND);
    undone ^= undone >>> 13 ^ undone >>> 26;
    undone *= inverse(END_FIRST);
    undone ^= undone >>> 16;
    return undone ^ length;
  }

  /** What an odd number is multiplied with to give one, by Newton's steps. */
  private static int inverse(int odd) {
    int inverse = odd;
    for (int i = 0; i < 4; i++) {
      inverse *= 2 - odd * inverse;
    }
    return inverse;
  }
}
