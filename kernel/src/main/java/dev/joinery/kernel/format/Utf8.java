package dev.joinery.kernel.format;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/** Tells whether bytes are well-formed UTF-8 (RFC 3629). */
final class Utf8 {
  private static final VarHandle LONGS =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
  private static final long HIGHS = 0x8080808080808080L;

  private Utf8() {}

  /** Returns the index of the first byte that is not UTF-8, -1 where all are. */
  static int firstInvalid(byte[] bytes, int from, int end) {
    int i = from;
    while (i < end) {
      if (i + 8 <= end && ((long) LONGS.get(bytes, i) & HIGHS) == 0) {
        i += 8;
        continue;
      }
      if (bytes[i] >= 0) {
        i++;
        continue;
      }
      int length = length(bytes, i, end);
      if (length == 0) {
        return i;
      }
      i += length;
    }
    return -1;
  }

  /** Refuses a text of a binary format that is not UTF-8. */
  static void require(byte[] bytes, int from, int end) {
    if (firstInvalid(bytes, from, end) >= 0) {
      throw Rejected.undecodable("a text that is not UTF-8");
    }
  }

  private static int length(byte[] bytes, int i, int end) {
    int first = bytes[i] & 0xff;
    int second = i + 1 < end ? bytes[i + 1] & 0xff : 0;
    if (first >= 0xc2 && first <= 0xdf) {
      return second >> 6 == 2 ? 2 : 0;
    }
    if (first >= 0xe0 && first <= 0xef) {
      int low = first == 0xe0 ? 0xa0 : 0x80;
      int high = first == 0xed ? 0x9f : 0xbf;
      return second >= low && second <= high && follows(bytes, i + 2, end) ? 3 : 0;
    }
    if (first >= 0xf0 && first <= 0xf4) {
      int low = first == 0xf0 ? 0x90 : 0x80;
      int high = first == 0xf4 ? 0x8f : 0xbf;
      boolean good = second >= low && second <= high;
      return good && follows(bytes, i + 2, end) && follows(bytes, i + 3, end) ? 4 : 0;
    }
    return 0;
  }

  private static boolean follows(byte[] bytes, int i, int end) {
    return i < end && (bytes[i] & 0xc0) == 0x80;
  }
}
