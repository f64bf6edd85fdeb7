package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.KeyCodec;
import dev.joinery.kernel.bytes.Slice;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.math.MathContext;
import java.math.RoundingMode;
import java.util.List;
import java.util.Locale;
import java.util.function.Function;
import java.util.function.Supplier;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;

/** The state of one aggregate over rows that come and go. */
abstract class Aggregate {
  abstract void add(Object value);

  /** Takes a value back; true where the state can no longer tell its result without the rows. */
  abstract boolean remove(Object value);

  /** Adds all that was added to another state of the same aggregate, and takes back what it took. */
  abstract void merge(Aggregate other);

  /** The result in Spark's internal form; null where there is none. */
  abstract Object result();

  /** True where no value was added, so that null is the result. */
  abstract boolean isEmpty();

  abstract void read(ByteReader in);

  abstract void write(ByteWriter out);

  /** The aggregates, each named as {@code expression/aggregate.py} has it, in upper case. */
  enum Kind {
    COUNT(type -> new Count()),
    SUM(type -> new Sum(type, false)),
    MIN(type -> new Extreme(type, false)),
    MAX(type -> new Extreme(type, true)),
    AVG(type -> new Sum(type, true));

    private final Function<DataType, Aggregate> state;

    Kind(Function<DataType, Aggregate> state) {
      this.state = state;
    }
  }

  /** Makes states of a function before any value, for results of a type. */
  static Supplier<Aggregate> of(String function, DataType type) {
    Function<DataType, Aggregate> state = Kind.valueOf(function.toUpperCase(Locale.ROOT)).state;
    return () -> state.apply(type);
  }

  private static final class Count extends Aggregate {
    private long count;

    @Override
    void add(Object value) {
      count++;
    }

    @Override
    boolean remove(Object value) {
      count--;
      return false;
    }

    @Override
    void merge(Aggregate other) {
      count += ((Count) other).count;
    }

    @Override
    Object result() {
      return count;
    }

    @Override
    boolean isEmpty() {
      return count == 0;
    }

    @Override
    void read(ByteReader in) {
      count = in.readVarLong();
    }

    @Override
    void write(ByteWriter out) {
      out.writeVarLong(count);
    }
  }

  /**
   * An exact sum; numbers that are not finite are counted aside.
   *
   * <p>What it is: {@code sum}, and {@code small} of the decimal places {@code scale}, which holds
   * what fits.
   */
  private static final class Sum extends Aggregate {
    private final DataType type;
    private final boolean average;
    private long count;
    private BigDecimal sum = BigDecimal.ZERO;
    private long small;
    private int scale;
    private final long[] special = new long[3];
    private boolean real;

    Sum(DataType type, boolean average) {
      this.type = type;
      this.average = average;
    }

    @Override
    void add(Object value) {
      count++;
      take(value, 1);
    }

    @Override
    boolean remove(Object value) {
      count--;
      take(value, -1);
      return false;
    }

    private void take(Object value, int sign) {
      if (value instanceof Double || value instanceof Float) {
        real = true;
        double number = ((Number) value).doubleValue();
        if (Double.isNaN(number) || Double.isInfinite(number)) {
          special[Double.isNaN(number) ? 0 : number > 0 ? 1 : 2] += sign;
          return;
        }
      }
      if (value instanceof Double || value instanceof Float) {
        add(new BigDecimal(((Number) value).doubleValue()), sign);
      } else if (!(value instanceof Decimal decimal)) {
        add(((Number) value).longValue(), 0, sign);
      } else if (decimal.precision() <= Decimal.MAX_LONG_DIGITS()) {
        add(decimal.toUnscaledLong(), decimal.scale(), sign);
      } else {
        add(decimal.toJavaBigDecimal(), sign);
      }
    }

    private void add(BigDecimal exact, int sign) {
      sum = sign > 0 ? sum.add(exact) : sum.subtract(exact);
    }

    private void add(long unscaled, int places, int sign) {
      long added = sign * unscaled;
      long total = small + added;
      boolean overflows = ((small ^ total) & (added ^ total)) < 0 || unscaled == Long.MIN_VALUE;
      if (overflows || places != scale) {
        sum = total();
        small = 0;
        scale = places;
        add(BigDecimal.valueOf(unscaled, places), sign);
      } else {
        small = total;
      }
    }

    private BigDecimal total() {
      return small == 0 ? sum : sum.add(BigDecimal.valueOf(small, scale));
    }

    @Override
    void merge(Aggregate other) {
      Sum that = (Sum) other;
      count += that.count;
      real |= that.real;
      for (int i = 0; i < special.length; i++) {
        special[i] += that.special[i];
      }
      if (that.small != 0) {
        add(that.small, that.scale, 1);
      }
      if (that.sum.signum() != 0) {
        add(that.sum, 1);
      }
    }

    @Override
    boolean isEmpty() {
      return count == 0;
    }

    @Override
    Object result() {
      if (count == 0) {
        return null;
      }
      BigDecimal sum = total();
      if (type instanceof DecimalType decimal) {
        return decimalResult(decimal, sum);
      }
      if (type.equals(org.apache.spark.sql.types.DataTypes.LongType)) {
        if (this.sum.signum() == 0 && scale == 0) {
          return small;
        }
        BigInteger whole = sum.toBigInteger();
        return whole.bitLength() < 64 ? (Object) whole.longValue() : null;
      }
      if (special[0] > 0 || special[1] > 0 && special[2] > 0) {
        return Double.NaN;
      }
      if (special[1] > 0 || special[2] > 0) {
        return special[1] > 0 ? Double.POSITIVE_INFINITY : Double.NEGATIVE_INFINITY;
      }
      if (!average) {
        return sum.doubleValue();
      }
      return real
          ? sum.doubleValue() / count
          : sum.divide(BigDecimal.valueOf(count), new MathContext(60)).doubleValue();
    }

    private Object decimalResult(DecimalType decimal, BigDecimal sum) {
      BigDecimal exact =
          average
              ? sum.divide(BigDecimal.valueOf(count), decimal.scale(), RoundingMode.HALF_UP)
              : sum.setScale(decimal.scale(), RoundingMode.HALF_UP);
      return exact.precision() > decimal.precision()
          ? null
          : Decimal.apply(exact, decimal.precision(), decimal.scale());
    }

    @Override
    void read(ByteReader in) {
      count = in.readVarLong();
      real = in.readByte() == 1;
      for (int i = 0; i < special.length; i++) {
        special[i] = in.readVarLong();
      }
      scale = in.readInt();
      Slice unscaled = in.readBlob();
      boolean fits = unscaled.length() < Long.BYTES;
      small = fits ? WholeNumber.read(unscaled) : 0;
      sum = fits ? BigDecimal.ZERO : new BigDecimal(digits(unscaled), scale);
    }

    private static BigInteger digits(Slice unscaled) {
      return new BigInteger(unscaled.array(), unscaled.offset(), unscaled.length());
    }

    @Override
    void write(ByteWriter out) {
      out.writeVarLong(count).writeByte(real ? 1 : 0);
      for (long each : special) {
        out.writeVarLong(each);
      }
      if (sum.signum() == 0 && sum.scale() <= scale && small != 0) {
        WholeNumber.write(small, out.writeInt(scale));
        return;
      }
      BigDecimal total = total();
      BigDecimal plain = total.signum() == 0 ? BigDecimal.ZERO : total;
      out.writeInt(plain.scale()).writeBlob(plain.unscaledValue().toByteArray());
    }
  }

  /** The least or the greatest value, as its sortable code. */
  private static final class Extreme extends Aggregate {
    private final KeyCodec codec;
    private final boolean greatest;
    private Slice best = Slice.EMPTY;

    Extreme(DataType type, boolean greatest) {
      this.codec = new KeyCodec(List.of(new KeyCodec.Column(0, type, type, false)));
      this.greatest = greatest;
    }

    private Slice code(Object value) {
      return Slice.of(codec.encode(new GenericInternalRow(new Object[] {value})));
    }

    @Override
    void add(Object value) {
      add(code(value));
    }

    private void add(Slice code) {
      if (code.isEmpty()) {
        return;
      }
      if (best.isEmpty() || (greatest ? code.compareTo(best) > 0 : code.compareTo(best) < 0)) {
        best = code;
      }
    }

    @Override
    boolean remove(Object value) {
      return code(value).equals(best);
    }

    @Override
    void merge(Aggregate other) {
      add(((Extreme) other).best);
    }

    @Override
    Object result() {
      return best.isEmpty() ? null : codec.decode(best)[0];
    }

    @Override
    boolean isEmpty() {
      return best.isEmpty();
    }

    @Override
    void read(ByteReader in) {
      best = in.readBlob().detach();
    }

    @Override
    void write(ByteWriter out) {
      out.writeBlob(best);
    }
  }
}
