package dev.joinery.kernel.format;

import java.util.Arrays;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeWriter;

/**
 * Remembers where in a record values stand: those of an object's known names, each at its index,
 * or those of a list, one behind the other.
 */
final class Spans {
  int[] from;
  int[] to;

  /** Whether a text holds escapes; only JSON has them. */
  boolean[] escaped;

  /** How many were added. */
  int size;

  /** Spans of a number of names, all absent. */
  Spans(int names) {
    from = new int[names];
    to = new int[names];
    escaped = new boolean[names];
    clear();
  }

  /** Makes all names absent. */
  void clear() {
    Arrays.fill(from, -1);
  }

  boolean absent(int index) {
    return from[index] < 0;
  }

  /** Lets a reader read the value at an index. */
  void read(int index, ValueReader reader, UnsafeWriter out, int ordinal) {
    reader.read(from[index], to[index], escaped[index], out, ordinal);
  }

  void set(int index, int from, int to, boolean escaped) {
    this.from[index] = from;
    this.to[index] = to;
    this.escaped[index] = escaped;
  }

  /** Puts a list's next value behind those that are there. */
  void add(int from, int to, boolean escaped) {
    if (size == this.from.length) {
      int room = Math.max(8, 2 * size);
      this.from = Arrays.copyOf(this.from, room);
      this.to = Arrays.copyOf(this.to, room);
      this.escaped = Arrays.copyOf(this.escaped, room);
    }
    set(size++, from, to, escaped);
  }
}
