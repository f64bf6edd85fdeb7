package dev.joinery.kernel.format;

import java.util.List;

/** Finds where the values of one object's known names stand; of a name told twice the last. */
final class JsonFields {
  final Names names;
  final Spans spans;

  /** How many names the object had, known or not. */
  int count;

  /** How many of them are known. */
  int known;

  private final JsonCursor json;

  JsonFields(JsonCursor json, List<String> names) {
    this.json = json;
    this.names = new Names(names);
    spans = new Spans(names.size());
  }

  void clear() {
    spans.clear();
    count = 0;
    known = 0;
  }

  /** Reads the object at the cursor. */
  void scan() {
    int[] from = spans.from;
    int[] to = spans.to;
    boolean[] escaped = spans.escaped;
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

  /** Whether a value stands there that is not null. */
  boolean present(int index) {
    return spans.from[index] >= 0 && json.bytes[spans.from[index]] != 'n';
  }
}
