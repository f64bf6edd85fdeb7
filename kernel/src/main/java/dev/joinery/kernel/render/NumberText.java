package dev.joinery.kernel.render;

import java.math.BigDecimal;
import java.math.MathContext;
import java.math.RoundingMode;
import java.nio.charset.StandardCharsets;
import java.util.List;

/** Writes numbers as JSON: whole and decimal numbers exact, floats in their shortest form. */
final class NumberText {
  private static final byte[] LEAST = "-9223372036854775808".getBytes(StandardCharsets.US_ASCII);
  private static final int EXACT_DIGITS = 15;
  private static final int EXACT_DIGITS_OF_FLOATS = 6;
  private static final int FIXED_MOST = 16;
  private static final int FIXED_LEAST = -4;
  private static final double EXACT_WHOLE = 1e15;
  private static final float EXACT_WHOLE_OF_FLOATS = 1 << 24;
  private static final long FRACTION = (1L << 52) - 1;
  private static final int FRACTION_OF_FLOATS = (1 << 23) - 1;
  private static final List<RoundingMode> NEAREST = List.of(RoundingMode.HALF_EVEN);

  /** Of a power of two: numbers below it are half as far apart as those above. */
  private static final List<RoundingMode> NEAREST_OR_ABOVE =
      List.of(RoundingMode.HALF_EVEN, RoundingMode.UP);

  private NumberText() {}

  static void append(long value, ByteSink out) {
    if (value == Long.MIN_VALUE) {
      out.append(LEAST);
      return;
    }
    out.reserve(20);
    if (value < 0) {
      out.bytes[out.size++] = '-';
      value = -value;
    }
    digits(value, count(value), out);
  }

  /** Writes exactly {@code count} digits; room must be there. */
  static void digits(long value, int count, ByteSink out) {
    byte[] bytes = out.bytes;
    int at = out.size + count;
    out.size = at;
    for (int i = 0; i < count; i++) {
      long rest = value / 10;
      bytes[--at] = (byte) ('0' + (value - rest * 10));
      value = rest;
    }
  }

  private static int count(long value) {
    int count = 1;
    while (value >= 10) {
      value /= 10;
      count++;
    }
    return count;
  }

  /** Writes {@code unscaled} / 10^{@code scale} with all its decimals. */
  static void append(long unscaled, int scale, ByteSink out) {
    if (scale <= 0 || unscaled == Long.MIN_VALUE) {
      append(BigDecimal.valueOf(unscaled, scale), out);
      return;
    }
    out.reserve(24 + scale);
    if (unscaled < 0) {
      out.bytes[out.size++] = '-';
      unscaled = -unscaled;
    }
    int digits = Math.max(count(unscaled), scale + 1);
    digits(unscaled, digits, out);
    int point = out.size - scale;
    System.arraycopy(out.bytes, point, out.bytes, point + 1, scale);
    out.bytes[point] = '.';
    out.size++;
  }

  static void append(BigDecimal value, ByteSink out) {
    ascii(value.toPlainString(), out);
  }

  static void append(double value, ByteSink out) {
    if (!Double.isFinite(value)) {
      ascii('"' + Double.toString(value) + '"', out);
    } else if (value == (long) value && Math.abs(value) < EXACT_WHOLE) {
      whole(value, out);
    } else {
      shortest(shorten(value), out);
    }
  }

  static void append(float value, ByteSink out) {
    if (!Float.isFinite(value)) {
      ascii('"' + Float.toString(value) + '"', out);
    } else if (value == (long) value && Math.abs(value) < EXACT_WHOLE_OF_FLOATS) {
      whole(value, out);
    } else {
      shortest(shorten(value), out);
    }
  }

  private static void whole(double value, ByteSink out) {
    if (value == 0 && 1 / value < 0) {
      out.append('-');
    }
    append((long) value, out);
    out.append('.');
    out.append('0');
  }

  /**
   * The fewest digits that give a number, the nearest of them.
   *
   * <p>Java 17 sometimes writes a digit too many, or not the nearest.
   */
  private static BigDecimal shorten(double value) {
    BigDecimal told = new BigDecimal(Double.toString(value));
    int least = Math.abs(value) < Double.MIN_NORMAL ? 1 : EXACT_DIGITS;
    if (told.precision() <= least) {
      return told;
    }
    BigDecimal exact = new BigDecimal(value);
    boolean lopsided = (Double.doubleToRawLongBits(value) & FRACTION) == 0;
    for (int digits = least; digits <= told.precision(); digits++) {
      for (RoundingMode mode : lopsided ? NEAREST_OR_ABOVE : NEAREST) {
        BigDecimal shorter = exact.round(new MathContext(digits, mode));
        if (shorter.doubleValue() == value) {
          return shorter;
        }
      }
    }
    return told;
  }

  private static BigDecimal shorten(float value) {
    BigDecimal told = new BigDecimal(Float.toString(value));
    int least = Math.abs(value) < Float.MIN_NORMAL ? 1 : EXACT_DIGITS_OF_FLOATS;
    if (told.precision() <= least) {
      return told;
    }
    BigDecimal exact = new BigDecimal(value);
    boolean lopsided = (Float.floatToRawIntBits(value) & FRACTION_OF_FLOATS) == 0;
    for (int digits = least; digits <= told.precision(); digits++) {
      for (RoundingMode mode : lopsided ? NEAREST_OR_ABOVE : NEAREST) {
        BigDecimal shorter = exact.round(new MathContext(digits, mode));
        if (shorter.floatValue() == value) {
          return shorter;
        }
      }
    }
    return told;
  }

  /** As Python writes it: with an exponent below 1e-4 and from 1e16 on. */
  private static void shortest(BigDecimal value, ByteSink out) {
    BigDecimal stripped = value.stripTrailingZeros();
    String digits = stripped.unscaledValue().abs().toString();
    int point = digits.length() - stripped.scale();
    if (stripped.signum() < 0) {
      out.append('-');
    }
    if (point <= FIXED_LEAST || point > FIXED_MOST) {
      exponent(digits, point - 1, out);
    } else if (point <= 0) {
      ascii("0." + "0".repeat(-point) + digits, out);
    } else if (point >= digits.length()) {
      ascii(digits + "0".repeat(point - digits.length()) + ".0", out);
    } else {
      ascii(digits.substring(0, point) + '.' + digits.substring(point), out);
    }
  }

  private static void exponent(String digits, int exponent, ByteSink out) {
    String fraction = digits.length() > 1 ? '.' + digits.substring(1) : "";
    String sign = exponent < 0 ? "-" : "+";
    String power = (Math.abs(exponent) < 10 ? "0" : "") + Math.abs(exponent);
    ascii(digits.charAt(0) + fraction + 'e' + sign + power, out);
  }

  private static void ascii(String text, ByteSink out) {
    out.append(text.getBytes(StandardCharsets.US_ASCII));
  }
}
