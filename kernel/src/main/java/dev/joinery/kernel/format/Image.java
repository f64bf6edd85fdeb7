package dev.joinery.kernel.format;

import java.util.List;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;

/**
 * One scanned object with a relation's columns (a before, an after, a message's key); remembers
 * where in the record their values stand. Names that are no columns come after the columns.
 */
abstract class Image {
  /** Whether the last record had it. */
  boolean there;

  /** Whether the record leaves the column out. */
  abstract boolean absent(int column);

  /** Whether a value stands there that is not null. */
  abstract boolean present(int column);

  /** Whether Debezium's placeholder stands there; not to be asked of an absent column. */
  abstract boolean unavailable(int column);

  /** Writes the value that stands there, null or not. */
  abstract void write(int column, UnsafeRowWriter writer);

  /** Writes a null of the column's type. */
  abstract void writeNull(int column, UnsafeRowWriter writer);

  /** Whether the column's bytes are those of another image of the same record. */
  abstract boolean sameBytes(int column, Image other);

  /** Names that the records had and that are no columns, as far as they are remembered. */
  List<String> undeclared() {
    return List.of();
  }

  /** Returns the whole number that stands there, or the micros of a timestamp in text. */
  abstract long position(int column);
}
