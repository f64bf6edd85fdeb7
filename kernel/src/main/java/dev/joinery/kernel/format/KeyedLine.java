package dev.joinery.kernel.format;

/**
 * Splits a line {@code {"key": …, "value": …}}, with just these two names, into its two texts;
 * remembers where they stand.
 */
public final class KeyedLine {
  private final JsonCursor json = new JsonCursor();

  /** The span of the key's text; -1 where it is null. */
  public int keyFrom;

  public int keyTo;

  /** The span of the value's text; -1 where it is null. */
  public int valueFrom;

  public int valueTo;

  /** Splits the line at this span; false where it is no such line, and so is a value itself. */
  public boolean split(byte[] line, int from, int to) {
    json.open(line, from, to);
    if (json.peek() != '{') {
      return false;
    }
    try {
      return splitObject(line);
    } catch (Rejected notJson) {
      return false;
    }
  }

  private boolean splitObject(byte[] line) {
    boolean key = false;
    boolean value = false;
    for (boolean more = json.firstName(); more; more = json.nextName()) {
      if (named(line, "key")) {
        json.skipValue();
        key = true;
        keyFrom = line[json.from] == 'n' ? -1 : json.from;
        keyTo = json.to;
      } else if (named(line, "value")) {
        json.skipValue();
        value = true;
        valueFrom = line[json.from] == 'n' ? -1 : json.from;
        valueTo = json.to;
      } else {
        return false;
      }
    }
    json.finish();
    return key && value;
  }

  private boolean named(byte[] line, String name) {
    int from = json.nameFrom;
    if (json.nameTo - from != name.length()) {
      return false;
    }
    for (int i = 0; i < name.length(); i++) {
      if (line[from + i] != name.charAt(i)) {
        return false;
      }
    }
    return true;
  }
}
