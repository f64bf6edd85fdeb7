package dev.joinery.kernel.files;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/** Finds and counts line ends, eight bytes at a time. */
final class Lines {
  private static final VarHandle LONGS =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
  private static final long ONES = 0x0101010101010101L;
  private static final long LOWS = 0x7f7f7f7f7f7f7f7fL;
  private static final long NEWLINES = ONES * '\n';

  private Lines() {}

  /** Marks each newline of eight bytes by the high bit of its place. */
  private static long newlines(byte[] bytes, int at) {
    long word = (long) LONGS.get(bytes, at) ^ NEWLINES;
    return ~(((word & LOWS) + LOWS) | word | LOWS);
  }

  static int count(byte[] bytes, int from, int to) {
    int count = 0;
    int at = from;
    for (; at + 8 <= to; at += 8) {
      count += Long.bitCount(newlines(bytes, at));
    }
    for (; at < to; at++) {
      count += bytes[at] == '\n' ? 1 : 0;
    }
    return count;
  }

  /** Returns the index of the first newline, -1 where there is none. */
  static int find(byte[] bytes, int from, int to) {
    int at = from;
    for (; at + 8 <= to; at += 8) {
      long found = newlines(bytes, at);
      if (found != 0) {
        return at + (Long.numberOfTrailingZeros(found) >>> 3);
      }
    }
    for (; at < to; at++) {
      if (bytes[at] == '\n') {
        return at;
      }
    }
    return -1;
  }

  /** Returns the index of the {@code nth} newline, from 1; there must be as many. */
  static int findNth(byte[] bytes, int from, int to, long nth) {
    long left = nth;
    int at = from;
    for (; at + 8 <= to; at += 8) {
      int here = Long.bitCount(newlines(bytes, at));
      if (here >= left) {
        break;
      }
      left -= here;
    }
    for (; at < to; at++) {
      if (bytes[at] == '\n' && --left == 0) {
        return at;
      }
    }
    throw new IllegalArgumentException("fewer newlines than asked for");
  }

  /** Returns the index of the last newline, -1 where there is none. */
  static int findLast(byte[] bytes, int from, int to) {
    for (int at = to - 1; at >= from; at--) {
      if (bytes[at] == '\n') {
        return at;
      }
    }
    return -1;
  }
}
