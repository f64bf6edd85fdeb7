package dev.joinery.kernel.format;

import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;

/** Reads numbers in digits exactly. */
final class Numbers {
  private static final int MAX_DIGITS = 1000;
  private static final BigDecimal LONG_MAX = BigDecimal.valueOf(Long.MAX_VALUE);
  private static final BigDecimal LONG_MIN = BigDecimal.valueOf(Long.MIN_VALUE);
  private static final int EXACT_DIGITS = 15;

  private Numbers() {}

  /** Returns a number without a fraction that fits a long. */
  static long whole(byte[] text, int from, int to, String type) {
    int i = text[from] == '-' ? from + 1 : from;
    if (to - i > 18 || i == to) {
      return wholeSlowly(text, from, to, type);
    }
    long value = 0;
    for (int at = i; at < to; at++) {
      int digit = text[at] - '0';
      if (digit < 0 || digit > 9) {
        return wholeSlowly(text, from, to, type);
      }
      value = value * 10 + digit;
    }
    return i == from ? value : -value;
  }

  private static long wholeSlowly(byte[] text, int from, int to, String type) {
    BigDecimal number = decimal(text, from, to, type);
    if (number.compareTo(LONG_MAX) > 0 || number.compareTo(LONG_MIN) < 0) {
      throw Rejected.outOfRange("the number does not fit " + type);
    }
    if (number.stripTrailingZeros().scale() > 0) {
      throw Rejected.wrongType("a fraction does not fit " + type);
    }
    return number.longValueExact();
  }

  /** Returns {@code NaN}, {@code Infinity} or {@code -Infinity} where a text says it; else null. */
  static String notFinite(byte[] text, int from, int to) {
    if (to - from < 3 || to - from > 17) {
      return null;
    }
    return switch (new String(text, from, to - from, StandardCharsets.ISO_8859_1)) {
      case "NaN", "NAN" -> "NaN";
      case "Infinity", "POSITIVE_INFINITY" -> "Infinity";
      case "-Infinity", "NEGATIVE_INFINITY" -> "-Infinity";
      default -> null;
    };
  }

  /** Returns the number that these characters say. */
  static BigDecimal decimal(byte[] text, int from, int to, String type) {
    if (to - from > MAX_DIGITS) {
      throw Rejected.outOfRange("a number of that many digits does not fit " + type);
    }
    BigDecimal number;
    try {
      number = new BigDecimal(new String(text, from, to - from, StandardCharsets.ISO_8859_1));
    } catch (NumberFormatException notANumber) {
      String word = notFinite(text, from, to);
      throw Rejected.wrongType(
          word == null
              ? "the text is not a number, " + type + " is declared"
              : word + " where " + type + " is declared");
    }
    if (Math.abs((long) number.precision() - number.scale()) > MAX_DIGITS) {
      if (number.signum() == 0) {
        return BigDecimal.ZERO;
      }
      throw Rejected.outOfRange("the number does not fit " + type);
    }
    return number;
  }

  /** Returns the double nearest to the number, never infinite; a negative zero becomes zero. */
  static double real(byte[] text, int from, int to, String type) {
    long digits = 0;
    int count = 0;
    int scale = 0;
    boolean point = false;
    boolean negative = text[from] == '-';
    for (int i = negative ? from + 1 : from; i < to; i++) {
      int digit = text[i] - '0';
      if (digit >= 0 && digit <= 9) {
        digits = digits * 10 + digit;
        scale += point ? 1 : 0;
        if (++count > EXACT_DIGITS) {
          return realSlowly(text, from, to, type);
        }
      } else if (text[i] == '.') {
        point = true;
      } else {
        return realSlowly(text, from, to, type);
      }
    }
    // Both are exact doubles here, so that one division rounds correctly.
    double value = digits / POWERS[scale];
    return negative && value != 0 ? -value : value;
  }

  private static final double[] POWERS = {
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15
  };

  private static double realSlowly(byte[] text, int from, int to, String type) {
    double value;
    try {
      value = Double.parseDouble(new String(text, from, to - from, StandardCharsets.ISO_8859_1));
    } catch (NumberFormatException notANumber) {
      throw Rejected.wrongType("not a finite number, " + type + " is declared");
    }
    if (Double.isInfinite(value)) {
      throw Rejected.outOfRange("the number does not fit " + type);
    }
    return value == 0 ? 0 : value;
  }
}
