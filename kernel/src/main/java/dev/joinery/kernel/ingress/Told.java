package dev.joinery.kernel.ingress;

import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.format.ChangeSink;
import dev.joinery.kernel.format.Format;
import dev.joinery.kernel.format.RegistryError;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;

/** What a decoder told of one record, to be told again once whose values it holds is known. */
final class Told implements ChangeSink {
  private final List<Consumer<ChangeSink>> calls = new ArrayList<>(2);
  private final UnaryOperator<Slice> rows;
  private final boolean insertsOnly;
  private RuntimeException failure;
  private StackOverflowError overflow;

  /**
   * {@code rows} makes the row of each upsert, which is told in place of it.
   *
   * @param insertsOnly whether the receiver ignores updates
   */
  Told(UnaryOperator<Slice> rows, boolean insertsOnly) {
    this.rows = rows;
    this.insertsOnly = insertsOnly;
  }

  /** Decodes a record; what a decoder trips over is told again, too. */
  Told of(Format format, int relation, byte[] key, byte[] value) {
    try {
      format.decode(relation, key, value, this);
    } catch (RegistryError | VaultError away) {
      throw away;
    } catch (RuntimeException error) {
      failure = error;
    } catch (StackOverflowError error) {
      overflow = error;
    }
    return this;
  }

  void tell(ChangeSink sink) {
    calls.forEach(each -> each.accept(sink));
    if (failure != null) {
      throw failure;
    }
    if (overflow != null) {
      throw overflow;
    }
  }

  @Override
  public void change(
      int relation,
      int op,
      boolean positioned,
      long position,
      byte[] row,
      int rowLength,
      long[] absent) {
    Slice kept = Slice.of(Arrays.copyOf(row, rowLength));
    byte[] whole = (op == UPSERT ? rows.apply(kept) : kept).toBytes();
    long[] left = absent == null ? null : absent.clone();
    calls.add(sink -> sink.change(relation, op, positioned, position, whole, whole.length, left));
  }

  @Override
  public boolean insertsOnly() {
    return insertsOnly;
  }

  @Override
  public void deadLetter(int relation, String reason, String detail) {
    calls.add(sink -> sink.deadLetter(relation, reason, detail));
  }

  @Override
  public void committed(int relation, long millis) {
    calls.add(sink -> sink.committed(relation, millis));
  }

  @Override
  public void snapshot(int relation) {
    calls.add(sink -> sink.snapshot(relation));
  }

  @Override
  public void count(int relation, String counter) {
    calls.add(sink -> sink.count(relation, counter));
  }
}
