package dev.joinery.kernel.format;

import java.math.BigDecimal;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeWriter;

/**
 * Takes the source's position from a column: a whole number, or a timestamp as its micros;
 * remembers the last.
 */
final class PositionColumn extends Target {
  private final int index;
  private final String column;
  private final IsoText iso = new IsoText();

  long position;

  PositionColumn(int index, String column) {
    super("a position");
    this.index = index;
    this.column = column;
  }

  /** Reads {@link #position}; false where the image has none. */
  boolean read(Image image) {
    if (!image.there || !image.present(index)) {
      return false;
    }
    try {
      image.tell(index, this);
    } catch (Rejected rejected) {
      throw rejected.in(column);
    }
    return true;
  }

  @Override
  void digits(byte[] text, int from, int to, UnsafeWriter none, int ordinal) {
    position = Numbers.whole(text, from, to, name);
  }

  @Override
  void whole(long number, UnsafeWriter none, int ordinal) {
    position = number;
  }

  @Override
  void real(double number, UnsafeWriter none, int ordinal) {
    position = withoutFraction(number);
  }

  @Override
  void text(byte[] chars, int from, int to, UnsafeWriter none, int ordinal) {
    position =
        isWhole(chars, from, to) ? whole(chars, from, to) : iso.micros(chars, from, to, name);
  }

  private static boolean isWhole(byte[] chars, int from, int to) {
    for (int i = from; i < to; i++) {
      byte next = chars[i];
      if ((next < '0' || next > '9') && !(next == '-' && i == from)) {
        return false;
      }
    }
    return true;
  }

  private long whole(byte[] chars, int from, int to) {
    BigDecimal number = Numbers.decimal(chars, from, to, name);
    try {
      return number.longValueExact();
    } catch (ArithmeticException notLong) {
      throw tooLarge();
    }
  }
}
