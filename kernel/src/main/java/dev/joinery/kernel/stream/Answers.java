package dev.joinery.kernel.stream;

import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.state.State;
import java.io.Serializable;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;

/**
 * What a store said of the keys of one batch, by the code of the key: the cell of a row, or why
 * what it holds is not a row; nothing where there is none.
 *
 * <p>It travels to the tasks as one array: Java would write each of many thousand small objects.
 */
public final class Answers implements Serializable {
  private final Map<Slice, byte[]> cells;
  private final Map<Slice, String> unfit;

  public Answers(Map<Slice, byte[]> cells, Map<Slice, String> unfit) {
    this.cells = cells;
    this.unfit = unfit;
  }

  private record Packed(byte[] bytes) implements Serializable {
    private Object readResolve() {
      ByteReader in = new ByteReader(bytes);
      int count = in.readVarInt();
      Map<Slice, byte[]> cells = new HashMap<>(count * 2);
      for (int i = 0; i < count; i++) {
        cells.put(in.readBlob(), in.readBlob().toBytes());
      }
      Map<Slice, String> unfit = new HashMap<>();
      while (in.hasMore()) {
        Slice key = in.readBlob();
        unfit.put(key, new String(in.readBlob().toBytes(), StandardCharsets.UTF_8));
      }
      return new Answers(cells, unfit);
    }
  }

  private Object writeReplace() {
    ByteWriter out = new ByteWriter(1 << 16).writeVarInt(cells.size());
    cells.forEach((key, cell) -> out.writeBlob(key).writeBlob(cell));
    unfit.forEach(
        (key, why) -> out.writeBlob(key).writeBlob(why.getBytes(StandardCharsets.UTF_8)));
    return new Packed(out.toBytes());
  }

  public String unfit(Slice key) {
    return unfit.get(key);
  }

  /** The answer as the state that a lookup reads; it writes none. */
  public State state(Slice key) {
    byte[] cell = cells.get(key);
    return new State() {
      @Override
      public byte[] read() {
        return cell;
      }

      @Override
      public void write(byte[] value) {
        throw new UnsupportedOperationException("a store's row is not ours");
      }

      @Override
      public void clear() {
        throw new UnsupportedOperationException("a store's row is not ours");
      }

      @Override
      public byte[] get(int page) {
        return null;
      }

      @Override
      public void put(int page, byte[] bytes) {
        throw new UnsupportedOperationException("a store's row is not ours");
      }

      @Override
      public void remove(int page) {
        throw new UnsupportedOperationException("a store's row is not ours");
      }
    };
  }
}
