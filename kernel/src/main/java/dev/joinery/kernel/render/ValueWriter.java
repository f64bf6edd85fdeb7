package dev.joinery.kernel.render;

import java.nio.charset.StandardCharsets;
import java.util.Base64;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** Writes values of one type, out of a row or an array, as JSON. */
interface ValueWriter {
  byte[] NULL = "null".getBytes(StandardCharsets.US_ASCII);
  byte[] TRUE = "true".getBytes(StandardCharsets.US_ASCII);
  byte[] FALSE = "false".getBytes(StandardCharsets.US_ASCII);

  /** Appends a value that is not null. */
  void write(SpecializedGetters values, int ordinal, ByteSink out);

  static ValueWriter of(DataType type) {
    if (type instanceof StringType) {
      return (values, i, out) -> JsonText.append(values.getUTF8String(i), out);
    } else if (type.equals(DataTypes.LongType)) {
      return (values, i, out) -> NumberText.append(values.getLong(i), out);
    } else if (type.equals(DataTypes.IntegerType)) {
      return (values, i, out) -> NumberText.append(values.getInt(i), out);
    } else if (type.equals(DataTypes.ShortType)) {
      return (values, i, out) -> NumberText.append((long) values.getShort(i), out);
    } else if (type.equals(DataTypes.ByteType)) {
      return (values, i, out) -> NumberText.append((long) values.getByte(i), out);
    } else if (type.equals(DataTypes.DoubleType)) {
      return (values, i, out) -> NumberText.append(values.getDouble(i), out);
    } else if (type.equals(DataTypes.FloatType)) {
      return (values, i, out) -> NumberText.append(values.getFloat(i), out);
    } else if (type.equals(DataTypes.BooleanType)) {
      return (values, i, out) -> out.append(values.getBoolean(i) ? TRUE : FALSE);
    }
    return ofOther(type);
  }

  private static ValueWriter ofOther(DataType type) {
    if (type.equals(DataTypes.TimestampType)) {
      return (values, i, out) -> timestamp(values.getLong(i), true, out);
    } else if (type.equals(DataTypes.TimestampNTZType)) {
      return (values, i, out) -> timestamp(values.getLong(i), false, out);
    } else if (type.equals(DataTypes.DateType)) {
      return (values, i, out) -> date(values.getInt(i), out);
    } else if (type.equals(DataTypes.BinaryType)) {
      return (values, i, out) -> binary(values.getBinary(i), out);
    } else if (type.equals(DataTypes.NullType)) {
      return (values, i, out) -> out.append(NULL);
    } else if (type instanceof DecimalType decimal) {
      return new DecimalWriter(decimal.precision(), decimal.scale());
    } else if (type instanceof StructType struct) {
      return new Struct(struct);
    } else if (type instanceof ArrayType array) {
      return new ListWriter(of(array.elementType()));
    } else if (type instanceof MapType map) {
      return new MapWriter(map);
    }
    throw new IllegalArgumentException("no JSON for the type " + type.sql());
  }

  private static void timestamp(long micros, boolean zoned, ByteSink out) {
    out.append('"');
    TimeText.timestamp(micros, zoned, out);
    out.append('"');
  }

  private static void date(int days, ByteSink out) {
    out.append('"');
    TimeText.date(days, out);
    out.append('"');
  }

  private static void binary(byte[] value, ByteSink out) {
    out.append('"');
    out.append(Base64.getEncoder().encode(value));
    out.append('"');
  }

  /** Writes decimals with all the decimals of their scale. */
  record DecimalWriter(int precision, int scale) implements ValueWriter {
    private static final int LONG_DIGITS = 18;

    @Override
    public void write(SpecializedGetters values, int ordinal, ByteSink out) {
      Decimal value = values.getDecimal(ordinal, precision, scale);
      if (precision <= LONG_DIGITS && value.scale() == scale) {
        NumberText.append(value.toUnscaledLong(), scale, out);
      } else {
        NumberText.append(value.toJavaBigDecimal().setScale(scale), out);
      }
    }
  }

  /** Writes objects: each field's name, then its value or null. */
  final class Struct implements ValueWriter {
    private final byte[][] names;
    private final ValueWriter[] fields;

    Struct(StructType type) {
      StructField[] declared = type.fields();
      names = new byte[declared.length][];
      fields = new ValueWriter[declared.length];
      for (int i = 0; i < declared.length; i++) {
        ByteSink name = new ByteSink(64);
        name.append(i == 0 ? '{' : ',');
        JsonWriter.writeText(declared[i].name(), name);
        name.append(':');
        names[i] = name.toByteArray();
        fields[i] = of(declared[i].dataType());
      }
    }

    @Override
    public void write(SpecializedGetters values, int ordinal, ByteSink out) {
      fields(values.getStruct(ordinal, fields.length), out);
    }

    void fields(InternalRow row, ByteSink out) {
      if (fields.length == 0) {
        out.append('{');
      }
      for (int i = 0; i < fields.length; i++) {
        out.append(names[i]);
        if (row.isNullAt(i)) {
          out.append(NULL);
        } else {
          fields[i].write(row, i, out);
        }
      }
      out.append('}');
    }
  }

  /** Writes lists. */
  record ListWriter(ValueWriter element) implements ValueWriter {
    @Override
    public void write(SpecializedGetters values, int ordinal, ByteSink out) {
      ArrayData array = values.getArray(ordinal);
      int size = array.numElements();
      out.append('[');
      for (int i = 0; i < size; i++) {
        if (i > 0) {
          out.append(',');
        }
        if (array.isNullAt(i)) {
          out.append(NULL);
        } else {
          element.write(array, i, out);
        }
      }
      out.append(']');
    }
  }

  /** Writes maps as objects; a key that is no JSON string becomes one. */
  final class MapWriter implements ValueWriter {
    private final ValueWriter key;
    private final ValueWriter value;
    private final ByteSink keyText = new ByteSink(64);

    MapWriter(MapType type) {
      key = of(type.keyType());
      value = of(type.valueType());
    }

    @Override
    public void write(SpecializedGetters values, int ordinal, ByteSink out) {
      MapData map = values.getMap(ordinal);
      ArrayData keys = map.keyArray();
      ArrayData entries = map.valueArray();
      int size = map.numElements();
      out.append('{');
      for (int i = 0; i < size; i++) {
        if (i > 0) {
          out.append(',');
        }
        writeKey(keys, i, out);
        out.append(':');
        if (entries.isNullAt(i)) {
          out.append(NULL);
        } else {
          value.write(entries, i, out);
        }
      }
      out.append('}');
    }

    private void writeKey(ArrayData keys, int i, ByteSink out) {
      keyText.clear();
      key.write(keys, i, keyText);
      if (keyText.bytes[0] == '"') {
        out.append(keyText.bytes, 0, keyText.size);
      } else {
        JsonText.append(keyText.bytes, 0, keyText.size, out);
      }
    }
  }
}
