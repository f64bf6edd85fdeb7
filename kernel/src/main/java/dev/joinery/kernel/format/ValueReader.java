package dev.joinery.kernel.format;

import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeWriter;

/** Reads values of one kind from the record at hand, null or not, into a row or an array. */
interface ValueReader {
  /**
   * Writes the value at a span; refuses what does not fit the declared type.
   *
   * @param escaped whether it is a text that holds escapes; only JSON has them
   */
  void read(int from, int to, boolean escaped, UnsafeWriter out, int ordinal);
}
