package dev.joinery.kernel.format;

import java.math.BigDecimal;
import java.math.RoundingMode;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeWriter;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;

/** Writes exact numbers of one decimal type; what it cannot hold is refused, not rounded. */
final class DecimalTarget extends Target {
  private static final int LONG_DIGITS = 18;

  private final int precision;
  private final int scale;

  DecimalTarget(DecimalType type) {
    super("decimal(" + type.precision() + "," + type.scale() + ")");
    this.precision = type.precision();
    this.scale = type.scale();
  }

  @Override
  void digits(byte[] text, int from, int to, UnsafeWriter out, int ordinal) {
    text(text, from, to, out, ordinal);
  }

  @Override
  void whole(long number, UnsafeWriter out, int ordinal) {
    decimal(BigDecimal.valueOf(number), out, ordinal);
  }

  @Override
  void real(double number, UnsafeWriter out, int ordinal) {
    decimal(BigDecimal.valueOf(finite(number)), out, ordinal);
  }

  @Override
  void text(byte[] text, int from, int to, UnsafeWriter out, int ordinal) {
    if (precision > LONG_DIGITS || !plain(text, from, to, out, ordinal)) {
      decimal(Numbers.decimal(text, from, to, name), out, ordinal);
    }
  }

  /** Writes short digits with at most as many decimals as declared; false for others. */
  private boolean plain(byte[] text, int from, int to, UnsafeWriter out, int ordinal) {
    int start = from < to && text[from] == '-' ? from + 1 : from;
    if (start >= to || to - start > LONG_DIGITS || text[start] == '.' || text[to - 1] == '.') {
      return false;
    }
    long unscaled = 0;
    int decimals = -1;
    for (int i = start; i < to; i++) {
      int digit = text[i] - '0';
      if (digit >= 0 && digit <= 9) {
        unscaled = unscaled * 10 + digit;
        decimals += decimals >= 0 ? 1 : 0;
      } else if (text[i] == '.' && decimals < 0) {
        decimals = 0;
      } else {
        return false;
      }
    }
    int missing = scale - Math.max(decimals, 0);
    if (missing < 0 || to - start + missing > LONG_DIGITS) {
      return false;
    }
    for (int i = 0; i < missing; i++) {
      unscaled *= 10;
    }
    if (precision < LONG_DIGITS && unscaled >= power(precision)) {
      throw tooLarge();
    }
    out.write(ordinal, start == from ? unscaled : -unscaled);
    return true;
  }

  private static long power(int digits) {
    long power = 1;
    for (int i = 0; i < digits; i++) {
      power *= 10;
    }
    return power;
  }

  @Override
  void decimal(BigDecimal number, UnsafeWriter out, int ordinal) {
    BigDecimal scaled;
    try {
      scaled = number.setScale(scale, RoundingMode.UNNECESSARY);
    } catch (ArithmeticException moreDecimals) {
      throw Rejected.wrongType("more decimals than " + name + " holds");
    }
    if (scaled.precision() > precision) {
      throw tooLarge();
    }
    if (precision <= LONG_DIGITS) {
      out.write(ordinal, scaled.unscaledValue().longValueExact());
    } else {
      out.write(ordinal, Decimal.apply(scaled, precision, scale), precision, scale);
    }
  }

  @Override
  void writeNull(UnsafeWriter out, int ordinal) {
    if (precision > LONG_DIGITS && out instanceof UnsafeRowWriter) {
      // Spark keeps the room of a large decimal, to set it in place.
      out.write(ordinal, (Decimal) null, precision, scale);
    } else {
      out.setNull8Bytes(ordinal);
    }
  }
}
