package dev.joinery.kernel.format;

import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeWriter;

/** Reads values of one writer's schema, and writes them as one declared type. */
interface AvroReader {
  /** Writes the value at the cursor; refuses what does not fit the declared type. */
  void read(AvroCursor in, UnsafeWriter out, int ordinal);
}
