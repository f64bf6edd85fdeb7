package dev.joinery.kernel.format;

import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Base64;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeWriter;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructType;

/** The target of each declared type, and those of numbers, booleans, text and bytes. */
final class Targets {
  private Targets() {}

  /**
   * @param told what a number counts, by its schema; null where that does not say
   * @param unit what a timestamp's number counts then
   */
  static Target of(DataType type, Temporals.Unit told, Temporals.Unit unit) {
    if (type instanceof StringType) {
      return told == null ? new Text() : new Temporals.AsText(told);
    } else if (type instanceof DecimalType decimal) {
      return new DecimalTarget(decimal);
    } else if (type.equals(DataTypes.TimestampType)) {
      return new Temporals.Timestamp(told == null ? unit : told, "timestamp");
    } else if (type.equals(DataTypes.TimestampNTZType)) {
      return new Temporals.Timestamp(told == null ? unit : told, "timestamp_ntz");
    } else if (type.equals(DataTypes.DateType)) {
      return new Temporals.Date(told == null ? Temporals.Unit.DAYS : told);
    } else if (type instanceof StructType) {
      return new Target("struct");
    } else if (type instanceof ArrayType) {
      return new Target("array");
    } else if (type instanceof MapType) {
      return new Target("map");
    }
    return atomic(type);
  }

  private static Target atomic(DataType type) {
    if (type.equals(DataTypes.LongType)) {
      return new Whole("long", 8);
    } else if (type.equals(DataTypes.IntegerType)) {
      return new Whole("int", 4);
    } else if (type.equals(DataTypes.ShortType)) {
      return new Whole("short", 2);
    } else if (type.equals(DataTypes.ByteType)) {
      return new Whole("byte", 1);
    } else if (type.equals(DataTypes.BooleanType)) {
      return new BooleanTarget();
    } else if (type.equals(DataTypes.DoubleType)) {
      return new DoubleTarget();
    } else if (type.equals(DataTypes.FloatType)) {
      return new FloatTarget();
    } else if (type.equals(DataTypes.BinaryType)) {
      return new Binary();
    } else if (type.equals(DataTypes.NullType)) {
      return new Target("void");
    }
    throw new IllegalArgumentException("no format reads the type " + type.sql());
  }

  /** Returns the bytes that a text holds as base64, which is how Kafka Connect writes them. */
  static byte[] base64(byte[] chars, int from, int to, String type) {
    try {
      ByteBuffer bytes = Base64.getDecoder().decode(ByteBuffer.wrap(chars, from, to - from));
      return Arrays.copyOf(bytes.array(), bytes.limit());
    } catch (IllegalArgumentException notBase64) {
      throw Rejected.wrongType("the text is not base64, " + type + " is declared");
    }
  }

  static final class Whole extends Target {
    private final int bytes;
    private final long least;
    private final long most;

    Whole(String name, int bytes) {
      super(name, bytes);
      this.bytes = bytes;
      this.most = Long.MAX_VALUE >>> (64 - 8 * bytes);
      this.least = -most - 1;
    }

    @Override
    void digits(byte[] text, int from, int to, UnsafeWriter out, int ordinal) {
      whole(Numbers.whole(text, from, to, name), out, ordinal);
    }

    @Override
    void whole(long number, UnsafeWriter out, int ordinal) {
      if (number < least || number > most) {
        throw tooLarge();
      }
      switch (bytes) {
        case 1 -> out.write(ordinal, (byte) number);
        case 2 -> out.write(ordinal, (short) number);
        case 4 -> out.write(ordinal, (int) number);
        default -> out.write(ordinal, number);
      }
    }

    @Override
    void real(double number, UnsafeWriter out, int ordinal) {
      whole(withoutFraction(number), out, ordinal);
    }

    @Override
    void decimal(BigDecimal number, UnsafeWriter out, int ordinal) {
      try {
        whole(number.longValueExact(), out, ordinal);
      } catch (ArithmeticException fractionOrTooLarge) {
        throw Rejected.wrongType("the number does not fit " + name);
      }
    }
  }

  /** What holds no text, but for a refusal that names NaN and the infinities. */
  private abstract static class RealTarget extends Target {
    RealTarget(String name, int elementBytes) {
      super(name, elementBytes);
    }

    @Override
    final void text(byte[] chars, int from, int to, UnsafeWriter out, int ordinal) {
      String word = Numbers.notFinite(chars, from, to);
      throw wrong(word == null ? "text" : word);
    }
  }

  static final class DoubleTarget extends RealTarget {
    DoubleTarget() {
      super("double", 8);
    }

    @Override
    void digits(byte[] text, int from, int to, UnsafeWriter out, int ordinal) {
      out.write(ordinal, Numbers.real(text, from, to, name));
    }

    @Override
    void whole(long number, UnsafeWriter out, int ordinal) {
      out.write(ordinal, (double) number);
    }

    @Override
    void real(double number, UnsafeWriter out, int ordinal) {
      out.write(ordinal, finite(number));
    }

    @Override
    void decimal(BigDecimal number, UnsafeWriter out, int ordinal) {
      out.write(ordinal, number.doubleValue() + 0.0);
    }
  }

  static final class FloatTarget extends RealTarget {
    FloatTarget() {
      super("float", 4);
    }

    @Override
    void digits(byte[] text, int from, int to, UnsafeWriter out, int ordinal) {
      real(Numbers.real(text, from, to, name), out, ordinal);
    }

    @Override
    void whole(long number, UnsafeWriter out, int ordinal) {
      out.write(ordinal, (float) number);
    }

    @Override
    void real(double number, UnsafeWriter out, int ordinal) {
      float narrowed = (float) finite(number);
      if (Float.isInfinite(narrowed)) {
        throw tooLarge();
      }
      out.write(ordinal, narrowed + 0.0f);
    }
  }

  static final class BooleanTarget extends Target {
    BooleanTarget() {
      super("boolean", 1);
    }

    @Override
    void bool(boolean value, UnsafeWriter out, int ordinal) {
      out.write(ordinal, value);
    }
  }

  static class Text extends Target {
    Text() {
      super("string");
    }

    @Override
    boolean isText() {
      return true;
    }

    @Override
    final void text(byte[] chars, int from, int to, UnsafeWriter out, int ordinal) {
      out.write(ordinal, chars, from, to - from);
    }

    @Override
    final void bytes(byte[] bytes, int from, int to, UnsafeWriter out, int ordinal) {
      Utf8.require(bytes, from, to);
      out.write(ordinal, bytes, from, to - from);
    }

    @Override
    final void decimal(BigDecimal number, UnsafeWriter out, int ordinal) {
      out.write(ordinal, number.toPlainString().getBytes(StandardCharsets.UTF_8));
    }
  }

  static final class Binary extends Target {
    Binary() {
      super("binary");
    }

    @Override
    boolean isText() {
      return true;
    }

    @Override
    void text(byte[] chars, int from, int to, UnsafeWriter out, int ordinal) {
      out.write(ordinal, base64(chars, from, to, name));
    }

    @Override
    void bytes(byte[] bytes, int from, int to, UnsafeWriter out, int ordinal) {
      out.write(ordinal, bytes, from, to - from);
    }
  }
}
