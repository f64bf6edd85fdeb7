package dev.joinery.kernel.format;

/** Flat rows as JSON. */
final class FlatJson implements Format {
  private static final String DEBEZIUM =
      "this is a change event of Debezium; write format: debezium-json";

  private final RelationSpec spec;
  private transient FlatRow row;
  private transient JsonCursor json;
  private transient JsonImage image;

  FlatJson(RelationSpec spec) {
    this.spec = spec;
  }

  @Override
  public ColumnsSeen columnsSeen() {
    return row == null ? null : row.columnsSeen();
  }

  @Override
  public void decode(int relation, byte[] key, byte[] value, ChangeSink sink) {
    if (row == null) {
      open();
    }
    try {
      decodeOrReject(relation, key, value, sink);
    } catch (Rejected rejected) {
      sink.deadLetter(relation, rejected.reason, rejected.detail());
    }
  }

  private void open() {
    RowBuilder builder = new RowBuilder(spec);
    row = new FlatRow(new Decoder(builder, new JsonKey(builder)), spec);
    json = new JsonCursor();
    image = new JsonImage(json, builder, FlatRow.extraNames(spec));
  }

  private void decodeOrReject(int relation, byte[] key, byte[] value, ChangeSink sink) {
    if (value == null) {
      row.tombstone(relation, key, sink);
      return;
    }
    if (!json.openObject(value)) {
      return;
    }
    image.scan();
    json.finish();
    if (image.spans.known == 0 && EnvelopeCheck.holds(value)) {
      throw Rejected.wrongFormat(DEBEZIUM);
    }
    row.apply(relation, key, image, deleted(), sink);
  }

  /** True and, as Debezium's unwrapping writes it, "true". */
  private boolean deleted() {
    int index = spec.columns().size();
    if (image.absent(index)) {
      return false;
    }
    byte[] text = json.text;
    int from = image.spans.from[index];
    return switch (text[from]) {
      case 't' -> true;
      case 'f', 'n' -> false;
      case '"' -> {
        String word = new String(text, from + 1, image.spans.to[index] - from - 2);
        if (!word.equals("true") && !word.equals("false")) {
          throw Rejected.wrongType("not a boolean").in("__deleted");
        }
        yield word.equals("true");
      }
      default -> throw Numbers.wrong(json, from, "boolean").in("__deleted");
    };
  }
}
