package dev.joinery.kernel.message;

import java.util.Iterator;
import java.util.function.Consumer;

/** The work of a partition as the outbox takes it: one piece a row, then one at the end. */
public final class RowByRow<T> implements Iterator<Runnable> {
  private final Iterator<T> rows;
  private final Consumer<T> take;
  private final Runnable close;
  private boolean closed;

  public RowByRow(Iterator<T> rows, Consumer<T> take, Runnable close) {
    this.rows = rows;
    this.take = take;
    this.close = close;
  }

  @Override
  public boolean hasNext() {
    return rows.hasNext() || !closed;
  }

  @Override
  public Runnable next() {
    if (rows.hasNext()) {
      T row = rows.next();
      return () -> take.accept(row);
    }
    closed = true;
    return close;
  }
}
