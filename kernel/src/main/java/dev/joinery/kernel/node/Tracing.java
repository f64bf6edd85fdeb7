package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.Slice;

/** Hears which row stands at an address, and what the row has below it. */
public interface Tracing {
  /** A row as its relation has it. */
  void cell(int relation, RowCell cell);

  /** A row as products see it, where it is not kept as its relation has it. */
  void seen(int relation, Slice row);

  /** A child of a branch or an arm, by its key, which is empty where there is one under no key. */
  void below(int branch, Slice key);
}
