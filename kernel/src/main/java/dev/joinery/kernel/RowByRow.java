package dev.joinery.kernel;

import java.util.Iterator;
import java.util.function.Consumer;

/** The work of a partition as the outbox takes it: one piece a row, then one at the end. */
final class RowByRow<T> implements Iterator<Runnable> {
  private final Iterator<T> rows;
  private final Consumer<T> take;
  private final Runnable close;
  private boolean closed;

  RowByRow(Iterator<T> rows, Consumer<T> take, Runnable close) {
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
