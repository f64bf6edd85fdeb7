package dev.joinery.kernel.format;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;

/**
 * One scanned object with a relation's columns (a before, an after, a message's key), and the
 * readers for its values; remembers them from record to record.
 */
final class Image {
  final JsonCursor json;
  final Spans spans;
  ValueReader[] readers;

  /** Whether the last record had it. */
  boolean there;

  /**
   * @param extra names that are no columns; they come after the columns in {@link #spans}
   */
  Image(JsonCursor json, RowBuilder builder, List<String> extra) {
    this.json = json;
    List<String> names = new ArrayList<>(builder.columns);
    names.addAll(extra);
    spans = new Spans(names);
    readers = builder.readers(null);
  }

  /** Reads the object or the null at the cursor. */
  void scan() {
    int first = json.peek();
    if (first == '{') {
      spans.scan(json);
      there = true;
      return;
    }
    json.skipValue();
    there = false;
    if (first != 'n') {
      throw Rejected.undecodable("a row that is not an object");
    }
  }

  void useSchema(RowBuilder builder, JsonNode schema) {
    readers = builder.readers(schema);
  }
}
