package dev.joinery.kernel.render;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.types.UTF8String;

/** Writes text as JSON strings: only quotes, backslashes and control characters are escaped. */
final class JsonText {
  private static final VarHandle LONGS =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
  private static final long ONES = 0x0101010101010101L;
  private static final long HIGHS = 0x8080808080808080L;
  private static final long QUOTES = ONES * '"';
  private static final long BACKSLASHES = ONES * '\\';
  private static final long BLANKS = ONES * ' ';
  private static final byte[] HEX = "0123456789abcdef".getBytes(StandardCharsets.US_ASCII);

  private JsonText() {}

  static void append(UTF8String text, ByteSink out) {
    int length = text.numBytes();
    out.reserve(length + 2);
    out.bytes[out.size++] = '"';
    Platform.copyMemory(
        text.getBaseObject(),
        text.getBaseOffset(),
        out.bytes,
        Platform.BYTE_ARRAY_OFFSET + out.size,
        length);
    close(length, out);
  }

  static void append(byte[] text, int from, int length, ByteSink out) {
    out.reserve(length + 2);
    out.bytes[out.size++] = '"';
    System.arraycopy(text, from, out.bytes, out.size, length);
    close(length, out);
  }

  /** Escapes the {@code length} bytes that stand after the end, and closes the string. */
  private static void close(int length, ByteSink out) {
    int plain = plain(out.bytes, out.size, length);
    if (plain == length) {
      out.size += length;
      out.bytes[out.size++] = '"';
      return;
    }
    byte[] rest = Arrays.copyOfRange(out.bytes, out.size + plain, out.size + length);
    out.size += plain;
    out.reserve(6 * rest.length + 1);
    for (byte next : rest) {
      escape(next, out);
    }
    out.bytes[out.size++] = '"';
  }

  /** Returns how many bytes need no escape before the first that does. */
  private static int plain(byte[] bytes, int from, int length) {
    int at = from;
    int end = from + length;
    while (at + 8 <= end) {
      long word = (long) LONGS.get(bytes, at);
      long quote = word ^ QUOTES;
      long backslash = word ^ BACKSLASHES;
      long special =
          ((quote - ONES) & ~quote) | ((backslash - ONES) & ~backslash) | ((word - BLANKS) & ~word);
      if ((special & HIGHS) != 0) {
        break;
      }
      at += 8;
    }
    while (at < end) {
      byte next = bytes[at];
      if (next == '"' || next == '\\' || (next >= 0 && next < ' ')) {
        break;
      }
      at++;
    }
    return at - from;
  }

  private static void escape(byte next, ByteSink out) {
    byte[] bytes = out.bytes;
    int size = out.size;
    if (next < 0 || (next >= ' ' && next != '"' && next != '\\')) {
      bytes[size++] = next;
    } else {
      bytes[size++] = '\\';
      switch (next) {
        case '"', '\\' -> bytes[size++] = next;
        case '\n' -> bytes[size++] = 'n';
        case '\r' -> bytes[size++] = 'r';
        case '\t' -> bytes[size++] = 't';
        case '\b' -> bytes[size++] = 'b';
        case '\f' -> bytes[size++] = 'f';
        default -> {
          bytes[size++] = 'u';
          bytes[size++] = '0';
          bytes[size++] = '0';
          bytes[size++] = HEX[next >> 4];
          bytes[size++] = HEX[next & 15];
        }
      }
    }
    out.size = size;
  }
}
