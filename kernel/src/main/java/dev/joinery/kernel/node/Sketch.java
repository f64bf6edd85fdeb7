package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;
import java.util.Arrays;
import java.util.function.Function;
import org.apache.spark.sql.types.Decimal;

/** Sketches as aggregates: each remembers one, and what is shown of it. */
final class Sketch {
  private Sketch() {}

  /** Different values, or where {@code merges} the sketches of such, which may be of any kind. */
  static final class OfDistinct extends Aggregate {
    private final Function<Distinct, Object> result;
    private final boolean merges;
    private Distinct sketch;
    private boolean broken;

    OfDistinct(int precision, Function<Distinct, Object> result) {
      this.sketch = new Distinct(precision);
      this.merges = false;
      this.result = result;
    }

    OfDistinct(Function<Distinct, Object> result) {
      this.merges = true;
      this.result = result;
    }

    @Override
    void add(Object value) {
      if (merges) {
        merge(Distinct.read(Slice.of((byte[]) value)));
      } else {
        sketch.add(ValueHash.of(value));
      }
    }

    private void merge(Distinct other) {
      if (other == null || sketch != null && sketch.precision() != other.precision()) {
        broken = true;
        return;
      }
      sketch = sketch == null ? new Distinct(other.precision()) : sketch;
      sketch.merge(other);
    }

    @Override
    boolean remove(Object value) {
      throw new IllegalStateException("a value that is taken back, of those that never go");
    }

    @Override
    void merge(Aggregate other) {
      OfDistinct that = (OfDistinct) other;
      broken |= that.broken;
      if (that.sketch != null) {
        merge(that.sketch);
      }
    }

    @Override
    Object result() {
      return broken ? null : result.apply(sketch);
    }

    @Override
    boolean isEmpty() {
      return !broken && (sketch == null || sketch.isEmpty());
    }

    @Override
    void read(ByteReader in) {
      broken = in.readByte() == 1;
      Slice bytes = in.readBlob();
      sketch = bytes.isEmpty() ? null : Distinct.read(bytes);
    }

    @Override
    void write(ByteWriter out) {
      out.writeByte(broken ? 1 : 0).writeBlob(sketch == null ? new byte[0] : sketch.toBytes());
    }
  }

  /** Numbers, or where {@code merges} the sketches of such; both may be taken back. */
  static final class OfQuantiles extends Aggregate {
    private final Function<Quantiles, Object> result;
    private final boolean merges;
    private Quantiles sketch;
    private long broken;

    OfQuantiles(long steps, Function<Quantiles, Object> result) {
      this.sketch = new Quantiles(steps);
      this.merges = false;
      this.result = result;
    }

    OfQuantiles(Function<Quantiles, Object> result) {
      this.merges = true;
      this.result = result;
    }

    @Override
    void add(Object value) {
      if (merges) {
        merge(Quantiles.read(Slice.of((byte[]) value)));
      } else {
        sketch.add(number(value), 1);
      }
    }

    private static double number(Object value) {
      return value instanceof Decimal decimal
          ? decimal.toJavaBigDecimal().doubleValue()
          : ((Number) value).doubleValue();
    }

    private void merge(Quantiles other) {
      if (other == null || sketch != null && sketch.steps() != other.steps()) {
        broken++;
        return;
      }
      sketch = sketch == null ? new Quantiles(other.steps()) : sketch;
      sketch.merge(other);
    }

    @Override
    boolean remove(Object value) {
      if (merges) {
        throw new IllegalStateException("a sketch that is taken back, of those that never go");
      }
      sketch.add(number(value), -1);
      return false;
    }

    @Override
    void merge(Aggregate other) {
      OfQuantiles that = (OfQuantiles) other;
      broken += that.broken;
      if (that.sketch != null) {
        merge(that.sketch);
      }
    }

    @Override
    Object result() {
      return broken > 0 ? null : result.apply(sketch);
    }

    @Override
    boolean isEmpty() {
      return broken == 0 && (sketch == null || sketch.isEmpty());
    }

    @Override
    void read(ByteReader in) {
      broken = in.readVarLong();
      Slice bytes = in.readBlob();
      sketch = bytes.isEmpty() ? null : Quantiles.read(bytes);
    }

    @Override
    void write(ByteWriter out) {
      out.writeVarLong(broken).writeBlob(sketch == null ? new byte[0] : sketch.toBytes());
    }
  }

  /** A Bloom filter of values that never go. */
  static final class OfBloom extends Aggregate {
    private static final int KIND = 3;

    private final long size;
    private final int probes;
    private byte[] bits = new byte[0];

    OfBloom(long size, int probes) {
      this.size = size;
      this.probes = probes;
    }

    @Override
    void add(Object value) {
      long hash = ValueHash.of(value);
      fill();
      for (int i = 0; i < probes; i++) {
        long bit = ((hash & 0xFFFFFFFFL) + i * (hash >>> 32)) % size;
        bits[(int) (bit >> 3)] |= (byte) (1 << (bit & 7));
      }
    }

    private void fill() {
      if (bits.length == 0) {
        bits = new byte[(int) ((size + 7) / 8)];
      }
    }

    @Override
    boolean remove(Object value) {
      throw new IllegalStateException("a value that is taken back, of those that never go");
    }

    @Override
    void merge(Aggregate other) {
      byte[] others = ((OfBloom) other).bits;
      if (others.length > 0) {
        fill();
      }
      for (int i = 0; i < others.length; i++) {
        bits[i] |= others[i];
      }
    }

    @Override
    Object result() {
      if (isEmpty()) {
        return null;
      }
      ByteWriter out = new ByteWriter(bits.length + 12);
      return out.writeByte(KIND).writeVarInt(probes).writeVarLong(size).writeRaw(bits).toBytes();
    }

    @Override
    boolean isEmpty() {
      return bits.length == 0;
    }

    @Override
    void read(ByteReader in) {
      Slice blob = in.readBlob();
      bits = Arrays.copyOfRange(blob.array(), blob.offset(), blob.offset() + blob.length());
    }

    @Override
    void write(ByteWriter out) {
      out.writeBlob(bits);
    }
  }
}
