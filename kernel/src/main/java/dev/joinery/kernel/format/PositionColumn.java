package dev.joinery.kernel.format;

/** Reads the source's position from a column: a whole number, or a timestamp as its micros. */
final class PositionColumn {
  private final int index;
  private final String name;

  long position;

  PositionColumn(int index, String name) {
    this.index = index;
    this.name = name;
  }

  /** Reads {@link #position}; false where the image has none. */
  boolean read(Image image) {
    if (!image.there || !image.present(index)) {
      return false;
    }
    try {
      position = image.position(index);
    } catch (Rejected rejected) {
      throw rejected.in(name);
    }
    return true;
  }

  /** Returns the position that these characters say: digits, or a timestamp. */
  static long ofText(IsoText iso, byte[] chars, int from, int to) {
    for (int i = from; i < to; i++) {
      byte next = chars[i];
      if ((next < '0' || next > '9') && !(next == '-' && i == from)) {
        return iso.micros(chars, from, to);
      }
    }
    var number = Numbers.decimal(chars, from, to, "a position");
    try {
      return number.longValueExact();
    } catch (ArithmeticException tooLarge) {
      throw Rejected.outOfRange("the number does not fit a position");
    }
  }
}
