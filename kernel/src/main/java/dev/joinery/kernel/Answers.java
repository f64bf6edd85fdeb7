package dev.joinery.kernel;

import java.io.Serializable;
import java.util.HashMap;
import java.util.Map;

/**
 * What a store said of the keys of one batch, by the code of the key: the cell of a row, or why
 * what it holds is no row; nothing where there is none.
 */
final class Answers implements Serializable {
  private final Map<Slice, byte[]> cells;
  private final Map<Slice, String> unfit;

  Answers(Map<Slice, byte[]> cells, Map<Slice, String> unfit) {
    this.cells = new HashMap<>(cells);
    this.unfit = new HashMap<>(unfit);
  }

  String unfit(Slice key) {
    return unfit.get(key);
  }

  /** The answer as the state that a lookup reads; it writes none. */
  State state(Slice key) {
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
