package dev.joinery.kernel.bytes;

import java.io.Serializable;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.math.RoundingMode;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.ShortType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.TimestampNTZType;
import org.apache.spark.sql.types.TimestampType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Turns columns of a row into bytes whose unsigned order is the order of the columns.
 *
 * <p>One encoding serves addresses, keys and sort orders. Columns are self-delimiting, so codes may
 * be concatenated. Whole numbers of every width have one code, so `int` equals `long`. Nulls come
 * first ascending and last descending; text sorts by its UTF-8 bytes; NaN is the greatest number.
 */
public final class KeyCodec implements Serializable {
  /** A column to encode: where it stands, what it is, and the type it is compared as. */
  public record Column(int ordinal, DataType type, DataType as, boolean descending)
      implements Serializable {}

  private enum Kind {
    BOOLEAN,
    WHOLE,
    REAL,
    DECIMAL,
    TEXT,
    BINARY
  }

  private static final int NULL = 0;
  private static final int PRESENT = 1;
  private static final int DECIMAL_BYTES = 17;

  private final Column[] columns;
  private final Kind[] kinds;

  /** Of the first columns of a row, by their own types. */
  public static KeyCodec of(DataType[] types) {
    List<Column> columns = new ArrayList<>();
    for (int i = 0; i < types.length; i++) {
      columns.add(new Column(i, types[i], types[i], false));
    }
    return new KeyCodec(columns);
  }

  public KeyCodec(List<Column> columns) {
    this.columns = columns.toArray(new Column[0]);
    this.kinds = columns.stream().map(column -> kindOf(column.as())).toArray(Kind[]::new);
  }

  /** Whether equal values of two types of columns have one code. */
  public static boolean isOneCode(DataType one, DataType other) {
    Kind kind = kindOf(one);
    return kind == kindOf(other)
        && (kind != Kind.DECIMAL || ((DecimalType) one).scale() == ((DecimalType) other).scale());
  }

  int size() {
    return columns.length;
  }

  Column column(int index) {
    return columns[index];
  }

  public boolean anyNull(InternalRow row) {
    for (Column column : columns) {
      if (row.isNullAt(column.ordinal())) {
        return true;
      }
    }
    return false;
  }

  public byte[] encode(InternalRow row) {
    ByteWriter out = new ByteWriter(16 * columns.length + 8);
    encode(row, out);
    return out.toBytes();
  }

  /** Whether this is one column of whole or real numbers. */
  public boolean isNumber() {
    return kinds.length == 1 && (kinds[0] == Kind.WHOLE || kinds[0] == Kind.REAL);
  }

  /** Of one column that is a number and not null: a long, in whose order the codes are. */
  public long number(InternalRow row) {
    int ordinal = columns[0].ordinal();
    DataType type = columns[0].type();
    return kinds[0] == Kind.WHOLE
        ? whole(row, ordinal, type)
        : sortable(real(row, ordinal, type)) ^ Long.MIN_VALUE;
  }

  /** The same of a code. */
  public static long numberOf(Slice code) {
    return (long) ByteWriter.LONGS.get(code.array(), code.offset() + 1) ^ Long.MIN_VALUE;
  }

  public void encode(InternalRow row, ByteWriter out) {
    for (int i = 0; i < columns.length; i++) {
      int start = out.size();
      encodeColumn(row, columns[i], kinds[i], out);
      if (columns[i].descending()) {
        byte[] bytes = out.array();
        for (int j = start; j < out.size(); j++) {
          bytes[j] = (byte) ~bytes[j];
        }
      }
    }
  }

  private static void encodeColumn(InternalRow row, Column column, Kind kind, ByteWriter out) {
    int ordinal = column.ordinal();
    if (row.isNullAt(ordinal)) {
      out.writeByte(NULL);
      return;
    }
    out.writeByte(PRESENT);
    switch (kind) {
      case BOOLEAN -> out.writeByte(row.getBoolean(ordinal) ? 1 : 0);
      case WHOLE -> out.writeLong(whole(row, ordinal, column.type()) ^ Long.MIN_VALUE);
      case REAL -> out.writeLong(sortable(real(row, ordinal, column.type())));
      case DECIMAL -> writeDecimal(decimal(row, ordinal, column), out);
      case TEXT -> writeEscaped(row.getUTF8String(ordinal).getBytes(), out);
      case BINARY -> writeEscaped(row.getBinary(ordinal), out);
    }
  }

  private static long whole(InternalRow row, int ordinal, DataType type) {
    if (type instanceof LongType
        || type instanceof TimestampType
        || type instanceof TimestampNTZType) {
      return row.getLong(ordinal);
    }
    if (type instanceof ShortType) {
      return row.getShort(ordinal);
    }
    if (type instanceof ByteType) {
      return row.getByte(ordinal);
    }
    return row.getInt(ordinal);
  }

  private static double real(InternalRow row, int ordinal, DataType type) {
    if (type instanceof DoubleType) {
      return row.getDouble(ordinal);
    }
    return type instanceof FloatType ? row.getFloat(ordinal) : whole(row, ordinal, type);
  }

  private static long sortable(double value) {
    long bits = Double.doubleToLongBits(value == 0.0 ? 0.0 : value);
    return bits ^ (bits >> 63 | Long.MIN_VALUE);
  }

  private static BigInteger decimal(InternalRow row, int ordinal, Column column) {
    int scale = ((DecimalType) column.as()).scale();
    BigDecimal value;
    if (column.type() instanceof DecimalType type) {
      value = row.getDecimal(ordinal, type.precision(), type.scale()).toJavaBigDecimal();
    } else {
      value = BigDecimal.valueOf(whole(row, ordinal, column.type()));
    }
    return value.setScale(scale, RoundingMode.UNNECESSARY).unscaledValue();
  }

  private static void writeDecimal(BigInteger unscaled, ByteWriter out) {
    byte[] digits = unscaled.toByteArray();
    int fill = unscaled.signum() < 0 ? 0xFF : 0;
    out.writeByte(fill ^ 0x80);
    for (int i = digits.length; i < DECIMAL_BYTES - 1; i++) {
      out.writeByte(fill);
    }
    out.writeRaw(digits);
  }

  private static void writeEscaped(byte[] text, ByteWriter out) {
    int start = 0;
    for (int i = 0; i < text.length; i++) {
      if (text[i] == 0) {
        out.writeRaw(text, start, i - start).writeByte(0).writeByte(0xFF);
        start = i + 1;
      }
    }
    out.writeRaw(text, start, text.length - start).writeByte(0).writeByte(0);
  }

  /**
   * Reads an encoded ascending key back: each column's value in Spark's internal form, null where
   * it was null.
   */
  public Object[] decode(Slice key) {
    ByteReader in = new ByteReader(key);
    Object[] values = new Object[columns.length];
    for (int i = 0; i < columns.length; i++) {
      values[i] = in.readByte() == NULL ? null : decodeColumn(in, columns[i].as(), kinds[i]);
    }
    return values;
  }

  private static Object decodeColumn(ByteReader in, DataType type, Kind kind) {
    return switch (kind) {
      case BOOLEAN -> in.readByte() == 1;
      case WHOLE -> boxed(in.readLong() ^ Long.MIN_VALUE, type);
      case REAL -> {
        long code = in.readLong();
        double value = Double.longBitsToDouble(code ^ (~code >> 63 | Long.MIN_VALUE));
        yield type instanceof FloatType ? (Object) (float) value : (Object) value;
      }
      case DECIMAL -> {
        byte[] digits = in.readSlice(DECIMAL_BYTES).toBytes();
        digits[0] ^= (byte) 0x80;
        DecimalType decimal = (DecimalType) type;
        yield Decimal.apply(
            new BigDecimal(new BigInteger(digits), decimal.scale()),
            decimal.precision(),
            decimal.scale());
      }
      case TEXT -> UTF8String.fromBytes(unescape(in));
      case BINARY -> unescape(in);
    };
  }

  private static Object boxed(long value, DataType type) {
    if (type instanceof IntegerType || type instanceof DateType) {
      return (int) value;
    }
    if (type instanceof ShortType) {
      return (short) value;
    }
    return type instanceof ByteType ? (Object) (byte) value : (Object) value;
  }

  private static byte[] unescape(ByteReader in) {
    ByteWriter out = new ByteWriter();
    while (true) {
      int next = in.readByte();
      if (next == 0 && in.readByte() == 0) {
        return out.toBytes();
      }
      out.writeByte(next);
    }
  }

  private static Kind kindOf(DataType type) {
    if (type instanceof BooleanType) {
      return Kind.BOOLEAN;
    }
    if (type instanceof StringType) {
      return Kind.TEXT;
    }
    if (type instanceof BinaryType) {
      return Kind.BINARY;
    }
    if (type instanceof DecimalType) {
      return Kind.DECIMAL;
    }
    if (type instanceof DoubleType || type instanceof FloatType) {
      return Kind.REAL;
    }
    if (type instanceof ByteType
        || type instanceof ShortType
        || type instanceof IntegerType
        || type instanceof LongType
        || type instanceof DateType
        || type instanceof TimestampType
        || type instanceof TimestampNTZType) {
      return Kind.WHOLE;
    }
    throw new IllegalArgumentException("no key of the type " + type.sql());
  }

  @Override
  public String toString() {
    return Arrays.toString(columns);
  }
}
