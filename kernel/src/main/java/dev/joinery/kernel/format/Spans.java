package dev.joinery.kernel.format;

import java.util.Arrays;
import java.util.List;

/** Remembers where in a text the values of one object's known names stand; the last one wins. */
final class Spans {
  final Names names;
  final int[] from;
  final int[] to;
  final boolean[] escaped;

  /** How many names the object had, known or not. */
  int count;

  /** How many of them are known. */
  int known;

  Spans(List<String> names) {
    this.names = new Names(names);
    from = new int[names.size()];
    to = new int[names.size()];
    escaped = new boolean[names.size()];
    clear();
  }

  void clear() {
    Arrays.fill(from, -1);
    count = 0;
    known = 0;
  }

  /** Reads the object at the cursor. */
  void scan(JsonCursor json) {
    clear();
    names.restart();
    for (boolean more = json.firstName(); more; more = json.nextName()) {
      count++;
      int index = names.find(json);
      json.skipValue();
      if (index >= 0) {
        known++;
        from[index] = json.from;
        to[index] = json.to;
        escaped[index] = json.escaped;
      }
    }
  }

  boolean absent(int index) {
    return from[index] < 0;
  }

  /** Whether a value stands there that is not null. */
  boolean present(int index, JsonCursor json) {
    return from[index] >= 0 && json.text[from[index]] != 'n';
  }
}
