package dev.joinery.kernel.format;

import java.util.Arrays;
import java.util.List;

/**
 * One scanned object with a relation's columns (a before, an after, a message's key); remembers
 * where in the record their values stand. Names that are not columns come after the columns.
 */
abstract class Image {
  /** Whether the last record had it. */
  boolean there;

  final Spans spans;

  /** Those of the columns, by the schema of the record at hand. */
  ValueReader[] readers;

  private final Cursor cursor;

  Image(Cursor cursor, Spans spans) {
    this.cursor = cursor;
    this.spans = spans;
  }

  /** Whether the record leaves the column out. */
  final boolean absent(int column) {
    return spans.from[column] < 0;
  }

  /** Whether a value stands there that is not null. */
  abstract boolean present(int column);

  /** Whether Debezium's placeholder stands there; not to be asked of an absent column. */
  abstract boolean unavailable(int column);

  /** Tells a target the value that stands there, which holds no others. */
  abstract void tell(int column, Target target);

  /** Whether the column's bytes are those of another image of the same record. */
  boolean sameBytes(int column, Image other) {
    return Arrays.equals(
        cursor.bytes,
        spans.from[column],
        spans.to[column],
        cursor.bytes,
        other.spans.from[column],
        other.spans.to[column]);
  }

  /** Names that the records had and that are not columns, as far as they are remembered. */
  List<String> undeclared() {
    return List.of();
  }
}
