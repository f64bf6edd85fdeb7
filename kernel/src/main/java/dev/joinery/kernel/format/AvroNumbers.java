package dev.joinery.kernel.format;

import java.math.BigDecimal;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DecimalType;

/** The readers of Avro's numbers; a number becomes any declared type that holds it. */
final class AvroNumbers {
  private AvroNumbers() {}

  /** Reads a number that may have a fraction. */
  interface Real {
    double read(AvroCursor in);
  }

  /**
   * @param told what the number counts, by its schema; null where that does not say
   * @param unit what a timestamp's number counts then
   */
  static AvroReader whole(DataType type, Temporals.Unit told, Temporals.Unit unit) {
    Scalars.Whole whole = Readers.whole(type);
    if (whole != null) {
      return (in, out, ordinal) -> whole.write(in.readLong(), out, ordinal);
    } else if (type.equals(DataTypes.DoubleType)) {
      return (in, out, ordinal) -> out.write(ordinal, (double) in.readLong());
    } else if (type.equals(DataTypes.FloatType)) {
      return (in, out, ordinal) -> out.write(ordinal, (float) in.readLong());
    } else if (type instanceof DecimalType decimal) {
      Decimals.Output output = new Decimals.Output(decimal);
      return (in, out, ordinal) ->
          output.write(BigDecimal.valueOf(in.readLong()), out, ordinal);
    }
    return temporal(type, told, unit);
  }

  private static AvroReader temporal(DataType type, Temporals.Unit told, Temporals.Unit unit) {
    boolean timeOfDay = told != null && told.timeOfDay();
    if (!timeOfDay && type.equals(DataTypes.DateType)) {
      Temporals.Date date = new Temporals.Date(told == null ? Temporals.Unit.DAYS : told);
      return (in, out, ordinal) -> date.write(in.readLong(), out, ordinal);
    }
    boolean timestamp =
        type.equals(DataTypes.TimestampType) || type.equals(DataTypes.TimestampNTZType);
    if (!timeOfDay && timestamp) {
      Temporals.Unit counted = told == null ? unit : told;
      return (in, out, ordinal) -> out.write(ordinal, counted.micros(in.readLong()));
    }
    return AvroReaders.wrong("a number", type);
  }

  static AvroReader real(DataType type, Real real) {
    String name = AvroReaders.name(type);
    if (type.equals(DataTypes.DoubleType)) {
      return (in, out, ordinal) -> out.write(ordinal, finite(real.read(in), name));
    } else if (type.equals(DataTypes.FloatType)) {
      return (in, out, ordinal) -> out.write(ordinal, narrow(finite(real.read(in), name)));
    } else if (type instanceof DecimalType decimal) {
      Decimals.Output output = new Decimals.Output(decimal);
      return (in, out, ordinal) ->
          output.write(BigDecimal.valueOf(finite(real.read(in), name)), out, ordinal);
    }
    Scalars.Whole whole = Readers.whole(type);
    if (whole != null) {
      return (in, out, ordinal) ->
          whole.write(withoutFraction(finite(real.read(in), name), name), out, ordinal);
    }
    return AvroReaders.wrong("a number", type);
  }

  /** Refuses NaN and the infinities; a negative zero becomes zero. */
  private static double finite(double value, String name) {
    if (Double.isFinite(value)) {
      return value + 0.0;
    }
    String found = Double.isNaN(value) ? "NaN" : "Infinity";
    throw Rejected.wrongType(found + " where " + name + " is declared");
  }

  private static float narrow(double value) {
    float narrowed = (float) value;
    if (Float.isInfinite(narrowed)) {
      throw Rejected.outOfRange("the number does not fit float");
    }
    return narrowed + 0.0f;
  }

  static long withoutFraction(double value, String name) {
    if (value != Math.rint(value)) {
      throw Rejected.wrongType("a fraction does not fit " + name);
    }
    if (value < Long.MIN_VALUE || value >= -(double) Long.MIN_VALUE) {
      throw Rejected.outOfRange("the number does not fit " + name);
    }
    return (long) value;
  }
}
