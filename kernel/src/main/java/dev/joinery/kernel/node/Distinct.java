package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;
import java.util.Arrays;
import java.util.Set;
import java.util.TreeSet;

/**
 * How many different hashes there are: remembers them while they are few, then the registers of
 * HyperLogLog. The twin of {@code Distinct} of sketch.py, byte for byte.
 */
final class Distinct {
  private static final int KIND = 1;
  private static final int LEAST_PRECISE = 4;
  private static final int MOST_PRECISE = 18;
  private static final double ALPHA = 0.7213475204444817;

  private final int precision;
  private Set<Long> hashes = new TreeSet<>(Long::compareUnsigned);
  private byte[] registers;

  Distinct(int precision) {
    this.precision = precision;
  }

  int precision() {
    return precision;
  }

  boolean isEmpty() {
    return hashes != null && hashes.isEmpty();
  }

  void add(long hash) {
    if (hashes == null) {
      raise(hash);
      return;
    }
    hashes.add(hash);
    if (hashes.size() > (1 << precision) / 8) {
      grow();
    }
  }

  private void grow() {
    registers = new byte[1 << precision];
    Set<Long> known = hashes;
    hashes = null;
    known.forEach(this::raise);
  }

  private void raise(long hash) {
    int index = (int) (hash >>> Long.SIZE - precision);
    int rank = Math.min(Long.numberOfLeadingZeros(hash << precision), Long.SIZE - precision) + 1;
    registers[index] = (byte) Math.max(registers[index], rank);
  }

  /** Adds what another of the same precision has. */
  void merge(Distinct other) {
    if (other.hashes != null) {
      other.hashes.forEach(this::add);
      return;
    }
    if (hashes != null) {
      grow();
    }
    for (int i = 0; i < registers.length; i++) {
      registers[i] = (byte) Math.max(registers[i], other.registers[i]);
    }
  }

  /** Ertl 2017, algorithm 6. */
  long count() {
    if (hashes != null) {
      return hashes.size();
    }
    double size = registers.length;
    int last = Long.SIZE - precision + 1;
    int[] counts = new int[last + 1];
    for (byte each : registers) {
      counts[each]++;
    }
    double z = size * tau(1.0 - counts[last] / size);
    for (int rank = last - 1; rank > 0; rank--) {
      z = 0.5 * (z + counts[rank]);
    }
    z += size * sigma(counts[0] / size);
    return (long) Math.floor(ALPHA * size * size / z + 0.5);
  }

  private static double sigma(double from) {
    if (from == 1.0) {
      return Double.POSITIVE_INFINITY;
    }
    double x = from;
    double y = 1.0;
    double z = x;
    double before = -1.0;
    while (z != before) {
      x = x * x;
      before = z;
      z += x * y;
      y += y;
    }
    return z;
  }

  private static double tau(double from) {
    if (from == 0.0 || from == 1.0) {
      return 0.0;
    }
    double x = from;
    double y = 1.0;
    double z = 1.0 - x;
    double before = -1.0;
    while (z != before) {
      x = Math.sqrt(x);
      before = z;
      y *= 0.5;
      z -= (1.0 - x) * (1.0 - x) * y;
    }
    return z / 3.0;
  }

  void write(ByteWriter out) {
    out.writeByte(KIND).writeByte(precision).writeByte(hashes == null ? 1 : 0);
    if (hashes == null) {
      out.writeRaw(registers);
    } else {
      hashes.forEach(out::writeLong);
    }
  }

  byte[] toBytes() {
    ByteWriter out = new ByteWriter(64);
    write(out);
    return out.toBytes();
  }

  /** What {@link #toBytes} wrote; null where these bytes are something else. */
  static Distinct read(Slice bytes) {
    byte[] body = bytes.toBytes();
    if (body.length < 3 || body[0] != KIND || body[2] < 0 || body[2] > 1
        || body[1] < LEAST_PRECISE || body[1] > MOST_PRECISE) {
      return null;
    }
    Distinct read = new Distinct(body[1]);
    int size = body.length - 3;
    if (body[2] == 1) {
      read.hashes = null;
      read.registers = Arrays.copyOfRange(body, 3, body.length);
      return size == 1 << body[1] ? read : null;
    }
    if (size % Long.BYTES != 0) {
      return null;
    }
    ByteReader in = new ByteReader(body, 3, size);
    while (in.hasMore()) {
      read.add(in.readLong());
    }
    return read;
  }
}
