package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;

/**
 * The first or the last rows of a group whose rows never go: remembers the codes of as many as are
 * shown, and how often each is there.
 */
final class Ends extends Aggregate {
  private final int most;
  private final boolean last;
  private final Function<List<Slice>, Object> result;
  private final TreeMap<Slice, Long> codes = new TreeMap<>();

  /** {@code result} makes it of the codes, of which there may be none, in their order. */
  Ends(int most, boolean last, Function<List<Slice>, Object> result) {
    this.most = most;
    this.last = last;
    this.result = result;
  }

  @Override
  void add(Object value) {
    add((Slice) value, 1);
  }

  private void add(Slice code, long count) {
    if (codes.size() >= most && isBeyond(code)) {
      return;
    }
    codes.merge(code, count, Long::sum);
    if (codes.size() > most) {
      codes.remove(last ? codes.firstKey() : codes.lastKey());
    }
  }

  private boolean isBeyond(Slice code) {
    return last ? code.compareTo(codes.firstKey()) < 0 : code.compareTo(codes.lastKey()) > 0;
  }

  @Override
  boolean remove(Object value) {
    throw new IllegalStateException("a row that is taken back, of rows that never go");
  }

  @Override
  void merge(Aggregate other) {
    ((Ends) other).codes.forEach(this::add);
  }

  @Override
  Object result() {
    List<Slice> shown = new ArrayList<>();
    codes.forEach(
        (code, count) -> {
          for (long i = 0; i < count && shown.size() < most; i++) {
            shown.add(code);
          }
        });
    return result.apply(shown);
  }

  @Override
  boolean isEmpty() {
    return codes.isEmpty();
  }

  @Override
  void read(ByteReader in) {
    codes.clear();
    for (int left = in.readVarInt(); left > 0; left--) {
      codes.put(in.readBlob().detach(), in.readVarLong());
    }
  }

  @Override
  void write(ByteWriter out) {
    out.writeVarInt(codes.size());
    for (Map.Entry<Slice, Long> each : codes.entrySet()) {
      out.writeBlob(each.getKey()).writeVarLong(each.getValue());
    }
  }
}
