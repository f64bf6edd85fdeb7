package dev.joinery.kernel.search;

import org.apache.spark.sql.catalyst.InternalRow;

/** A stored query that could be read, whatever its language. */
public sealed interface Condition permits SqlCondition, TextCondition {
  /** What it says of a row. */
  enum Verdict {
    HOLDS,
    DOES_NOT,
    FAILS
  }

  Verdict of(InternalRow row);
}
