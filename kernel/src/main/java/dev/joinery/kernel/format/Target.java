package dev.joinery.kernel.format;

import java.math.BigDecimal;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeWriter;

/**
 * Writes values of one declared type into a row or an array: what a record holds, in whatever
 * format, meets here what is declared. A kind of value that a type does not take is refused.
 */
class Target {
  /** The declared type, as refusals name it. */
  final String name;

  private final int elementBytes;

  /**
   * @param elementBytes the bytes an element of an array takes in its fixed part
   */
  Target(String name, int elementBytes) {
    this.name = name;
    this.elementBytes = elementBytes;
  }

  Target(String name) {
    this(name, 8);
  }

  /** Takes a number as JSON writes it, after its first character. */
  void digits(byte[] text, int from, int to, UnsafeWriter out, int ordinal) {
    throw wrong("a number");
  }

  void whole(long number, UnsafeWriter out, int ordinal) {
    throw wrong("a number");
  }

  void real(double number, UnsafeWriter out, int ordinal) {
    throw wrong("a number");
  }

  /** Takes an exact number that its format marks as such. */
  void decimal(BigDecimal number, UnsafeWriter out, int ordinal) {
    throw wrong("a decimal");
  }

  /** Takes a text that is well-formed UTF-8. */
  void text(byte[] chars, int from, int to, UnsafeWriter out, int ordinal) {
    throw wrong("text");
  }

  void bytes(byte[] bytes, int from, int to, UnsafeWriter out, int ordinal) {
    throw wrong("bytes");
  }

  void bool(boolean value, UnsafeWriter out, int ordinal) {
    throw wrong("a boolean");
  }

  /** Whether a text is the way in which JSON holds its values, whatever the text looks like. */
  boolean isText() {
    return false;
  }

  /** Writes a null, as Spark's own projections do. */
  void writeNull(UnsafeWriter out, int ordinal) {
    switch (elementBytes) {
      case 1 -> out.setNull1Bytes(ordinal);
      case 2 -> out.setNull2Bytes(ordinal);
      case 4 -> out.setNull4Bytes(ordinal);
      default -> out.setNull8Bytes(ordinal);
    }
  }

  final int elementBytes() {
    return elementBytes;
  }

  /** Says what stands there instead of the declared type. */
  final Rejected wrong(String found) {
    return Rejected.wrongType(found + " where " + name + " is declared");
  }

  final Rejected tooLarge() {
    return Rejected.outOfRange("the number does not fit " + name);
  }

  /** Refuses NaN and the infinities; a negative zero becomes zero. */
  final double finite(double value) {
    if (Double.isFinite(value)) {
      return value + 0.0;
    }
    throw wrong(Double.toString(value));
  }

  /** Refuses what is not a whole number that fits a long. */
  final long withoutFraction(double value) {
    if (finite(value) != Math.rint(value)) {
      throw Rejected.wrongType("a fraction does not fit " + name);
    }
    if (value < Long.MIN_VALUE || value >= -(double) Long.MIN_VALUE) {
      throw tooLarge();
    }
    return (long) value;
  }
}
