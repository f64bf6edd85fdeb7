package dev.joinery.kernel.format;

import java.util.List;

/**
 * Flat rows as JSON: a row is an upsert, {@code "__deleted": true} a delete, a null value under a
 * key a tombstone; {@code __position} is the source's position.
 */
final class FlatJson implements Format {
  private static final String DELETE_FIX = "send its key columns, or the message's key";

  private final RelationSpec spec;
  private transient Decoder decoder;
  private transient Image image;
  private transient PositionColumn position;

  FlatJson(RelationSpec spec) {
    this.spec = spec;
  }

  @Override
  public void decode(int relation, byte[] key, byte[] value, ChangeSink sink) {
    if (decoder == null) {
      open();
    }
    try {
      decodeOrReject(relation, key, value, sink);
    } catch (Rejected rejected) {
      sink.deadLetter(relation, rejected.reason, rejected.detail());
    }
  }

  private void open() {
    decoder = new Decoder(spec);
    String name = spec.position() == null ? "__position" : spec.position();
    int declared = spec.columns().indexOf(name);
    List<String> extra = declared < 0 ? List.of("__deleted", name) : List.of("__deleted");
    image = new Image(decoder.json, decoder.row, extra);
    position = new PositionColumn(declared < 0 ? spec.columns().size() + 1 : declared, name);
  }

  private void decodeOrReject(int relation, byte[] key, byte[] value, ChangeSink sink) {
    if (value == null) {
      decoder.tombstone(relation, key, sink);
      return;
    }
    if (!decoder.open(value)) {
      return;
    }
    image.scan();
    decoder.json.finish();
    boolean positioned = position.read(image);
    if (deleted()) {
      decoder.delete(relation, image, key, positioned, position.position, sink, DELETE_FIX);
      return;
    }
    decoder.buildUpsert(image, key, false);
    decoder.upsert(relation, positioned, position.position, sink);
  }

  /** True and, as Debezium's unwrapping writes it, "true". */
  private boolean deleted() {
    int index = spec.columns().size();
    Spans spans = image.spans;
    if (spans.absent(index)) {
      return false;
    }
    byte[] text = image.json.text;
    int from = spans.from[index];
    return switch (text[from]) {
      case 't' -> true;
      case 'f', 'n' -> false;
      case '"' -> {
        String word = new String(text, from + 1, spans.to[index] - from - 2);
        if (!word.equals("true") && !word.equals("false")) {
          throw Rejected.wrongType("not a boolean").in("__deleted");
        }
        yield word.equals("true");
      }
      default -> throw Numbers.wrong(image.json, from, "boolean").in("__deleted");
    };
  }
}
