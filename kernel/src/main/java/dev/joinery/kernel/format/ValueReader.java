package dev.joinery.kernel.format;

import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeWriter;

/** Writes JSON values of one declared type into a row or an array; keeps what it needs for that. */
abstract class ValueReader {
  /** Writes the value at this span, which is not null; refuses what does not fit the type. */
  abstract void read(
      JsonCursor json, int from, int to, boolean escaped, UnsafeWriter writer, int ordinal);

  /** Writes a null, as Spark's own projections do. */
  void writeNull(UnsafeWriter writer, int ordinal) {
    writer.setNull8Bytes(ordinal);
  }

  /** The bytes an element of an array takes in its fixed part. */
  int elementBytes() {
    return 8;
  }

  /** Writes the value at this span, null or not. */
  final void readOrNull(
      JsonCursor json, int from, int to, boolean escaped, UnsafeWriter writer, int ordinal) {
    if (json.text[from] == 'n') {
      writeNull(writer, ordinal);
    } else {
      read(json, from, to, escaped, writer, ordinal);
    }
  }
}
