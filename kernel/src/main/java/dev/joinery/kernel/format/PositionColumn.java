package dev.joinery.kernel.format;

/** Reads the source's position from a column: a whole number, or a timestamp as its micros. */
final class PositionColumn {
  private final int index;
  private final String name;
  private final IsoText iso = new IsoText();

  long position;

  PositionColumn(int index, String name) {
    this.index = index;
    this.name = name;
  }

  /** Reads {@link #position}; false where the image has none. */
  boolean read(Image image) {
    if (!image.there || !image.spans.present(index, image.json)) {
      return false;
    }
    JsonCursor json = image.json;
    int from = image.spans.from[index];
    int to = image.spans.to[index];
    try {
      position =
          json.text[from] == '"'
              ? ofText(json, from, to, image.spans.escaped[index])
              : number(json, from, to);
    } catch (Rejected rejected) {
      throw rejected.in(name);
    }
    return true;
  }

  private static long number(JsonCursor json, int from, int to) {
    return Numbers.whole(json, from, to, "a position");
  }

  private long ofText(JsonCursor json, int from, int to, boolean escaped) {
    json.textOf(from, to, escaped);
    for (int i = json.charsFrom; i < json.charsTo; i++) {
      byte next = json.chars[i];
      if ((next < '0' || next > '9') && !(next == '-' && i == json.charsFrom)) {
        return iso.micros(json.chars, json.charsFrom, json.charsTo);
      }
    }
    var number = Numbers.decimal(json.chars, json.charsFrom, json.charsTo, "a position");
    try {
      return number.longValueExact();
    } catch (ArithmeticException tooLarge) {
      throw Rejected.outOfRange("the number does not fit a position");
    }
  }
}
