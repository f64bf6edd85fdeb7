package dev.joinery.kernel.format;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Base64;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeWriter;

/** The readers of numbers, booleans, text and bytes. */
final class Scalars {
  private Scalars() {}

  static final class Whole extends ValueReader {
    private final String type;
    private final int bytes;
    private final long least;
    private final long most;

    Whole(String type, int bytes) {
      this.type = type;
      this.bytes = bytes;
      this.most = Long.MAX_VALUE >>> (64 - 8 * bytes);
      this.least = -most - 1;
    }

    @Override
    void read(JsonCursor json, int from, int to, boolean escaped, UnsafeWriter out, int ordinal) {
      write(Numbers.whole(json, from, to, type), out, ordinal);
    }

    void write(long value, UnsafeWriter out, int ordinal) {
      if (value < least || value > most) {
        throw Rejected.outOfRange("the number does not fit " + type);
      }
      switch (bytes) {
        case 1 -> out.write(ordinal, (byte) value);
        case 2 -> out.write(ordinal, (short) value);
        case 4 -> out.write(ordinal, (int) value);
        default -> out.write(ordinal, value);
      }
    }

    @Override
    void writeNull(UnsafeWriter out, int ordinal) {
      switch (bytes) {
        case 1 -> out.setNull1Bytes(ordinal);
        case 2 -> out.setNull2Bytes(ordinal);
        case 4 -> out.setNull4Bytes(ordinal);
        default -> out.setNull8Bytes(ordinal);
      }
    }

    @Override
    int elementBytes() {
      return bytes;
    }
  }

  static final class DoubleReader extends ValueReader {
    @Override
    void read(JsonCursor json, int from, int to, boolean escaped, UnsafeWriter out, int ordinal) {
      out.write(ordinal, Numbers.real(json, from, to, "double"));
    }
  }

  static final class FloatReader extends ValueReader {
    @Override
    void read(JsonCursor json, int from, int to, boolean escaped, UnsafeWriter out, int ordinal) {
      float value = (float) Numbers.real(json, from, to, "float");
      if (Float.isInfinite(value)) {
        throw Rejected.outOfRange("the number does not fit float");
      }
      out.write(ordinal, value == 0 ? 0f : value);
    }

    @Override
    void writeNull(UnsafeWriter out, int ordinal) {
      out.setNull4Bytes(ordinal);
    }

    @Override
    int elementBytes() {
      return 4;
    }
  }

  static final class BooleanReader extends ValueReader {
    @Override
    void read(JsonCursor json, int from, int to, boolean escaped, UnsafeWriter out, int ordinal) {
      byte first = json.text[from];
      if (first != 't' && first != 'f') {
        throw Numbers.wrong(json, from, "boolean");
      }
      out.write(ordinal, first == 't');
    }

    @Override
    void writeNull(UnsafeWriter out, int ordinal) {
      out.setNull1Bytes(ordinal);
    }

    @Override
    int elementBytes() {
      return 1;
    }
  }

  static final class Text extends ValueReader {
    @Override
    void read(JsonCursor json, int from, int to, boolean escaped, UnsafeWriter out, int ordinal) {
      if (json.text[from] != '"') {
        throw Numbers.wrong(json, from, "string");
      }
      if (escaped) {
        json.textOf(from, to, true);
        out.write(ordinal, json.chars, json.charsFrom, json.charsTo - json.charsFrom);
      } else {
        out.write(ordinal, json.text, from + 1, to - from - 2);
      }
    }
  }

  /** Bytes as base64, as Kafka Connect writes them. */
  static final class Binary extends ValueReader {
    @Override
    void read(JsonCursor json, int from, int to, boolean escaped, UnsafeWriter out, int ordinal) {
      out.write(ordinal, base64(json, from, to, escaped, "binary"));
    }

    static byte[] base64(JsonCursor json, int from, int to, boolean escaped, String type) {
      if (json.text[from] != '"') {
        throw Numbers.wrong(json, from, type);
      }
      json.textOf(from, to, escaped);
      ByteBuffer text =
          ByteBuffer.wrap(json.chars, json.charsFrom, json.charsTo - json.charsFrom);
      try {
        ByteBuffer bytes = Base64.getDecoder().decode(text);
        return Arrays.copyOf(bytes.array(), bytes.limit());
      } catch (IllegalArgumentException notBase64) {
        throw Rejected.wrongType("the text is not base64, " + type + " is declared");
      }
    }
  }

  /** The type of a column that is always null. */
  static final class Void extends ValueReader {
    @Override
    void read(JsonCursor json, int from, int to, boolean escaped, UnsafeWriter out, int ordinal) {
      throw Numbers.wrong(json, from, "void");
    }
  }
}
