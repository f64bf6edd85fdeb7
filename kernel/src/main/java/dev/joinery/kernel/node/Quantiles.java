package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;
import java.util.HashMap;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;

/**
 * How many numbers lie in each of the buckets that are one relative error wide: remembers the
 * buckets that have some. The twin of {@code Quantiles} of sketch.py, byte for byte.
 */
final class Quantiles {
  private static final int KIND = 2;
  private static final int NAN = 0;
  private static final int LOW = 1;
  private static final int HIGH = 2;
  private static final int ZERO = 3;

  private final long steps;
  private final long[] odd = new long[4];
  private final Map<Long, long[]> below = new HashMap<>();
  private final Map<Long, long[]> above = new HashMap<>();

  Quantiles(long steps) {
    this.steps = steps;
  }

  long steps() {
    return steps;
  }

  /** Adds a number so often; less than never takes it back. */
  void add(double number, long times) {
    if (Double.isNaN(number)) {
      odd[NAN] += times;
    } else if (Double.isInfinite(number)) {
      odd[number < 0 ? LOW : HIGH] += times;
    } else if (number == 0) {
      odd[ZERO] += times;
    } else {
      add(number < 0 ? below : above, bucketOf(Math.abs(number)), times);
    }
  }

  private static void add(Map<Long, long[]> side, long bucket, long times) {
    side.computeIfAbsent(bucket, each -> new long[1])[0] += times;
  }

  /** The buckets that have some, in their order. */
  private static NavigableMap<Long, Long> sorted(Map<Long, long[]> side) {
    NavigableMap<Long, Long> sorted = new TreeMap<>();
    side.forEach(
        (bucket, times) -> {
          if (times[0] != 0) {
            sorted.put(bucket, times[0]);
          }
        });
    return sorted;
  }

  private long bucketOf(double number) {
    boolean tiny = number < Double.MIN_NORMAL;
    double whole = tiny ? number * 0x1p54 : number;
    long exponent = Math.getExponent(whole) - (tiny ? 54 : 0);
    long digits = Double.doubleToLongBits(whole) & (1L << 52) - 1;
    return exponent * steps + (digits * steps >> 52);
  }

  void merge(Quantiles other) {
    for (int i = 0; i < odd.length; i++) {
      odd[i] += other.odd[i];
    }
    other.below.forEach((bucket, times) -> add(below, bucket, times[0]));
    other.above.forEach((bucket, times) -> add(above, bucket, times[0]));
  }

  boolean isEmpty() {
    return total() == 0;
  }

  private long total() {
    long total = 0;
    for (long each : odd) {
      total += each;
    }
    for (long[] each : below.values()) {
      total += each[0];
    }
    for (long[] each : above.values()) {
      total += each[0];
    }
    return total;
  }

  /** The number of the rank that a part of all has; null where there is none. */
  Double at(double part) {
    long total = total();
    if (total == 0) {
      return null;
    }
    long rank = Math.max(1, (long) Math.ceil(part * total)) - odd[LOW];
    if (rank <= 0) {
      return Double.NEGATIVE_INFINITY;
    }
    for (Map.Entry<Long, Long> each : sorted(below).descendingMap().entrySet()) {
      rank -= each.getValue();
      if (rank <= 0) {
        return -numberOf(each.getKey());
      }
    }
    rank -= odd[ZERO];
    if (rank <= 0) {
      return 0.0;
    }
    for (Map.Entry<Long, Long> each : sorted(above).entrySet()) {
      rank -= each.getValue();
      if (rank <= 0) {
        return numberOf(each.getKey());
      }
    }
    return rank <= odd[HIGH] ? Double.POSITIVE_INFINITY : Double.NaN;
  }

  private double numberOf(long bucket) {
    long low = steps + Math.floorMod(bucket, steps);
    double number = (double) (2 * low * (low + 1)) / (double) (steps * (2 * low + 1));
    return Math.scalb(number, (int) Math.floorDiv(bucket, steps));
  }

  void write(ByteWriter out) {
    out.writeByte(KIND).writeVarLong(steps);
    for (long each : odd) {
      out.writeVarLong(folded(each));
    }
    write(sorted(below), out);
    write(sorted(above), out);
  }

  private static void write(NavigableMap<Long, Long> side, ByteWriter out) {
    out.writeVarLong(side.size());
    long last = 0;
    for (Map.Entry<Long, Long> each : side.entrySet()) {
      out.writeVarLong(folded(each.getKey() - last)).writeVarLong(folded(each.getValue()));
      last = each.getKey();
    }
  }

  byte[] toBytes() {
    ByteWriter out = new ByteWriter(64);
    write(out);
    return out.toBytes();
  }

  /** What {@link #toBytes} wrote; null where these bytes are something else. */
  static Quantiles read(Slice bytes) {
    ByteReader in = new ByteReader(bytes);
    if (bytes.isEmpty() || in.readByte() != KIND) {
      return null;
    }
    try {
      Quantiles read = new Quantiles(number(in));
      for (int i = 0; i < read.odd.length; i++) {
        read.odd[i] = unfolded(number(in));
      }
      readSide(read.below, in);
      readSide(read.above, in);
      return read.steps > 0 && !in.hasMore() ? read : null;
    } catch (IllegalArgumentException cut) {
      return null;
    }
  }

  private static void readSide(Map<Long, long[]> side, ByteReader in) {
    long bucket = 0;
    for (long left = number(in); left > 0; left--) {
      bucket += unfolded(number(in));
      add(side, bucket, unfolded(number(in)));
    }
  }

  /** A number, byte by byte, since there may be none. */
  private static long number(ByteReader in) {
    long value = 0;
    for (int shift = 0; in.hasMore(); shift += 7) {
      int next = in.readByte();
      value |= (next & 0x7FL) << shift;
      if (next >= 0) {
        return value;
      }
    }
    throw new IllegalArgumentException("the bytes end within a number");
  }

  private static long folded(long number) {
    return number << 1 ^ number >> 63;
  }

  private static long unfolded(long number) {
    return number >>> 1 ^ -(number & 1);
  }
}
