package dev.joinery.kernel.format;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.Arrays;

/**
 * Walks once over one JSON text (RFC 8259) and remembers where it stands; refuses what is not JSON.
 *
 * <p>{@code NaN} and {@code Infinity} pass as scalars, so that the column which holds one can be
 * named. A value is told by its span: {@link #from} and {@link #to} include a string's quotes.
 */
final class JsonCursor extends Cursor {
  private static final VarHandle LONGS =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
  private static final long ONES = 0x0101010101010101L;
  private static final long HIGHS = 0x8080808080808080L;
  private static final long QUOTES = ONES * '"';
  private static final long BACKSLASHES = ONES * '\\';
  private static final long BLANKS = ONES * ' ';

  /** The span of the name last read, without its quotes. */
  int nameFrom;

  int nameTo;
  boolean nameEscaped;

  /** The span of the value last skipped, with its quotes. */
  int from;

  int to;
  boolean escaped;

  /** What {@link #textOf} gave: the characters of a string, as UTF-8. */
  byte[] chars;

  int charsFrom;
  int charsTo;

  private byte[] scratch = new byte[256];

  /** Starts at a text that has to be an object. */
  void openObject(byte[] text) {
    int invalid = Utf8.firstInvalid(text, 0, text.length);
    if (invalid >= 0) {
      throw Rejected.undecodable("not UTF-8 at byte " + invalid);
    }
    open(text, 0, text.length);
    int first = peek();
    if (first < 0) {
      throw Rejected.undecodable("the value is empty, which is not a delete: a null value is");
    }
    if (first != '{') {
      throw Rejected.undecodable("the value is not a JSON object");
    }
  }

  /** Skips white space; returns the byte that comes, -1 at the end. */
  int peek() {
    byte[] text = bytes;
    int at = this.at;
    while (at < end) {
      byte next = text[at];
      if (next > ' ' || (next != ' ' && next != '\t' && next != '\n' && next != '\r')) {
        this.at = at;
        return next & 0xff;
      }
      at++;
    }
    this.at = at;
    return -1;
  }

  /** Enters an object and reads its first name; false where it is empty. */
  boolean firstName() {
    expect('{');
    if (peek() == '}') {
      at++;
      return false;
    }
    readName();
    return true;
  }

  /** Reads the next name; false after the last. */
  boolean nextName() {
    int next = peek();
    if (next == ',') {
      at++;
      readName();
      return true;
    }
    expect('}');
    return false;
  }

  /** Enters an array; false where it is empty. */
  boolean firstElement() {
    expect('[');
    if (peek() == ']') {
      at++;
      return false;
    }
    return true;
  }

  /** Goes on to the next element; false after the last. */
  boolean nextElement() {
    if (peek() == ',') {
      at++;
      return true;
    }
    expect(']');
    return false;
  }

  @Override
  void finish() {
    if (peek() >= 0) {
      throw broken();
    }
  }

  /** Skips one value and tells its span. */
  void skipValue() {
    int first = peek();
    int start = at;
    escaped = false;
    switch (first) {
      case '"' -> {
        at++;
        escaped = scanString();
      }
      case '{' -> {
        skipObject();
        escaped = false;
      }
      case '[' -> {
        skipArray();
        escaped = false;
      }
      case 't' -> literal("true");
      case 'f' -> literal("false");
      case 'n' -> literal("null");
      case 'N' -> literal("NaN");
      case 'I' -> literal("Infinity");
      case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9' -> number();
      default -> throw broken();
    }
    from = start;
    to = at;
  }

  private void skipObject() {
    enter();
    for (boolean more = firstName(); more; more = nextName()) {
      skipValue();
    }
    leave();
  }

  private void skipArray() {
    enter();
    for (boolean more = firstElement(); more; more = nextElement()) {
      skipValue();
    }
    leave();
  }

  private void readName() {
    if (peek() != '"') {
      throw broken();
    }
    nameFrom = ++at;
    nameEscaped = scanString();
    nameTo = at - 1;
    expect(':');
  }

  private void expect(int wanted) {
    if (peek() != wanted) {
      throw broken();
    }
    at++;
  }

  /** Moves from after the opening quote to after the closing one; true where there are escapes. */
  private boolean scanString() {
    byte[] text = bytes;
    int at = this.at;
    boolean found = false;
    while (true) {
      while (at + 8 <= end) {
        long word = (long) LONGS.get(text, at);
        long quote = word ^ QUOTES;
        long backslash = word ^ BACKSLASHES;
        long special =
            ((quote - ONES) & ~quote)
                | ((backslash - ONES) & ~backslash)
                | ((word - BLANKS) & ~word);
        special &= HIGHS;
        if (special != 0) {
          at += Long.numberOfTrailingZeros(special) >>> 3;
          break;
        }
        at += 8;
      }
      if (at >= end) {
        this.at = end;
        throw broken();
      }
      byte next = text[at++];
      if (next == '"') {
        this.at = at;
        return found;
      }
      if (next == '\\') {
        found = true;
        this.at = at;
        at = checkEscape(at);
      } else if (next >= 0 && next < ' ') {
        this.at = at - 1;
        throw broken();
      }
    }
  }

  private int checkEscape(int at) {
    int kind = at < end ? bytes[at++] : -1;
    switch (kind) {
      case '"', '\\', '/', 'b', 'f', 'n', 'r', 't' -> {
        return at;
      }
      case 'u' -> {
        if (end - at < 4 || hex(at) < 0) {
          throw broken();
        }
        return at + 4;
      }
      default -> throw broken();
    }
  }

  private int hex(int at) {
    int value = 0;
    for (int i = at; i < at + 4; i++) {
      int digit = Character.digit(bytes[i], 16);
      if (digit < 0) {
        return -1;
      }
      value = value << 4 | digit;
    }
    return value;
  }

  private void literal(String word) {
    int length = word.length();
    if (end - at < length) {
      throw broken();
    }
    for (int i = 0; i < length; i++) {
      if (bytes[at + i] != word.charAt(i)) {
        throw broken();
      }
    }
    at += length;
  }

  private void number() {
    if (bytes[at] == '-') {
      at++;
      if (at < end && bytes[at] == 'I') {
        literal("Infinity");
        return;
      }
    }
    if (at < end && bytes[at] == '0') {
      at++;
    } else {
      digits();
    }
    if (at < end && bytes[at] == '.') {
      at++;
      digits();
    }
    if (at < end && (bytes[at] | 0x20) == 'e') {
      at++;
      if (at < end && (bytes[at] == '+' || bytes[at] == '-')) {
        at++;
      }
      digits();
    }
  }

  private void digits() {
    int start = at;
    while (at < end && bytes[at] >= '0' && bytes[at] <= '9') {
      at++;
    }
    if (at == start) {
      throw broken();
    }
  }

  /** Gives the characters of the string with this span in {@link #chars}. */
  void textOf(int from, int to, boolean escaped) {
    if (escaped) {
      int size = unescape(from + 1, to - 1);
      chars = scratch;
      charsFrom = 0;
      charsTo = size;
    } else {
      chars = bytes;
      charsFrom = from + 1;
      charsTo = to - 1;
    }
  }

  /**
   * Returns the whole number that stands there.
   *
   * @param type as which it is wanted, for a refusal
   */
  long whole(int from, int to, String type) {
    byte first = bytes[from];
    if (first != '-' && (first < '0' || first > '9')) {
      throw Rejected.wrongType(kind(from) + " where " + type + " is declared");
    }
    return Numbers.whole(bytes, from, to, type);
  }

  /** Tells what stands there, for a refusal. */
  String kind(int from) {
    return switch (bytes[from]) {
      case '"' -> "text";
      case '{' -> "an object";
      case '[' -> "a list";
      case 't', 'f' -> "a boolean";
      case 'N' -> "NaN";
      case 'I' -> "Infinity";
      case '-' -> bytes[from + 1] == 'I' ? "-Infinity" : "a number";
      case 'n' -> "null";
      default -> "a number";
    };
  }

  /** Returns a copy of the name last read, its escapes resolved. */
  byte[] name() {
    if (nameEscaped) {
      return Arrays.copyOf(scratch, unescape(nameFrom, nameTo));
    }
    return Arrays.copyOfRange(bytes, nameFrom, nameTo);
  }

  private int unescape(int from, int to) {
    if (scratch.length < to - from) {
      scratch = new byte[Math.max(to - from, 2 * scratch.length)];
    }
    byte[] out = scratch;
    int size = 0;
    int i = from;
    while (i < to) {
      byte next = bytes[i++];
      if (next != '\\') {
        out[size++] = next;
        continue;
      }
      byte kind = bytes[i++];
      switch (kind) {
        case 'b' -> out[size++] = '\b';
        case 'f' -> out[size++] = '\f';
        case 'n' -> out[size++] = '\n';
        case 'r' -> out[size++] = '\r';
        case 't' -> out[size++] = '\t';
        case 'u' -> {
          int code = hex(i);
          i += 4;
          if (Character.isSurrogate((char) code)) {
            code = pair(code, i, to);
            i += 6;
          }
          size = putCodePoint(out, size, code);
        }
        default -> out[size++] = kind;
      }
    }
    return size;
  }

  private int pair(int high, int at, int to) {
    boolean follows = to - at >= 6 && bytes[at] == '\\' && bytes[at + 1] == 'u';
    int low = follows ? hex(at + 2) : -1;
    if (low < 0 || !Character.isSurrogatePair((char) high, (char) low)) {
      throw Rejected.undecodable("half a surrogate pair is not a character");
    }
    return Character.toCodePoint((char) high, (char) low);
  }

  private static int putCodePoint(byte[] out, int size, int code) {
    if (code < 0x80) {
      out[size++] = (byte) code;
    } else if (code < 0x800) {
      out[size++] = (byte) (0xc0 | code >> 6);
      out[size++] = (byte) (0x80 | code & 0x3f);
    } else if (code < 0x10000) {
      out[size++] = (byte) (0xe0 | code >> 12);
      out[size++] = (byte) (0x80 | code >> 6 & 0x3f);
      out[size++] = (byte) (0x80 | code & 0x3f);
    } else {
      out[size++] = (byte) (0xf0 | code >> 18);
      out[size++] = (byte) (0x80 | code >> 12 & 0x3f);
      out[size++] = (byte) (0x80 | code >> 6 & 0x3f);
      out[size++] = (byte) (0x80 | code & 0x3f);
    }
    return size;
  }

  Rejected broken() {
    return Rejected.undecodable(
        at >= end ? "the JSON text ends too early" : "not JSON at byte " + at);
  }
}
