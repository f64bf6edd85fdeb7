package dev.joinery.kernel.door;

import dev.joinery.kernel.bytes.BinaryRow;
import dev.joinery.kernel.bytes.Slice;
import java.time.Instant;
import java.time.LocalDate;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** Finds dates and timestamps of a row outside the years 1 to 9999, which stores cannot hold. */
public final class Years {
  private static final long FIRST_DAY = LocalDate.of(1, 1, 1).toEpochDay();
  private static final long LAST_DAY = LocalDate.of(9999, 12, 31).toEpochDay();
  private static final long FIRST_MICRO = micros(Instant.parse("0001-01-01T00:00:00Z"));
  private static final long LAST_MICRO = micros(Instant.parse("9999-12-31T23:59:59.999999Z"));

  private final StructType type;
  private final boolean[] timed;

  public Years(StructType type) {
    this.type = type;
    this.timed = new boolean[type.length()];
    for (int i = 0; i < timed.length; i++) {
      timed[i] = isTimed(type.fields()[i].dataType());
    }
  }

  /** A sentence that names the first column with such a value; null where there is none. */
  public String refusal(Slice row) {
    SpecializedGetters values = null;
    for (int i = 0; i < timed.length; i++) {
      if (timed[i]) {
        values = values == null ? BinaryRow.of(row, timed.length) : values;
        StructField field = type.fields()[i];
        if (isOutside(values, i, field.dataType())) {
          return "column \"" + field.name() + "\": a time outside the years 1 to 9999";
        }
      }
    }
    return null;
  }

  private static boolean isTimed(DataType type) {
    if (type instanceof StructType struct) {
      return java.util.Arrays.stream(struct.fields()).anyMatch(each -> isTimed(each.dataType()));
    } else if (type instanceof ArrayType array) {
      return isTimed(array.elementType());
    } else if (type instanceof MapType map) {
      return isTimed(map.keyType()) || isTimed(map.valueType());
    }
    return type.equals(DataTypes.DateType)
        || type.equals(DataTypes.TimestampType)
        || type.equals(DataTypes.TimestampNTZType);
  }

  private static boolean isOutside(SpecializedGetters values, int ordinal, DataType type) {
    if (values.isNullAt(ordinal) || !isTimed(type)) {
      return false;
    } else if (type.equals(DataTypes.DateType)) {
      int day = values.getInt(ordinal);
      return day < FIRST_DAY || day > LAST_DAY;
    } else if (type instanceof StructType struct) {
      return anyOutside(values.getStruct(ordinal, struct.length()), struct);
    } else if (type instanceof ArrayType array) {
      return anyOutside(values.getArray(ordinal), array.elementType());
    } else if (type instanceof MapType map) {
      MapData entries = values.getMap(ordinal);
      return anyOutside(entries.keyArray(), map.keyType())
          || anyOutside(entries.valueArray(), map.valueType());
    }
    long micros = values.getLong(ordinal);
    return micros < FIRST_MICRO || micros > LAST_MICRO;
  }

  private static boolean anyOutside(SpecializedGetters row, StructType type) {
    for (int i = 0; i < type.length(); i++) {
      if (isOutside(row, i, type.fields()[i].dataType())) {
        return true;
      }
    }
    return false;
  }

  private static boolean anyOutside(ArrayData elements, DataType type) {
    for (int i = 0; i < elements.numElements(); i++) {
      if (isOutside(elements, i, type)) {
        return true;
      }
    }
    return false;
  }

  private static long micros(Instant instant) {
    return instant.getEpochSecond() * 1_000_000 + instant.getNano() / 1_000;
  }
}
