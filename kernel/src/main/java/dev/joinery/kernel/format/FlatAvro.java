package dev.joinery.kernel.format;

/** Flat rows as Avro, by the schema they were written with. */
final class FlatAvro implements Format {
  private final RelationSpec spec;
  private final Schemas schemas;
  private transient FlatRow row;
  private transient AvroMessage message;
  private transient AvroImage image;

  FlatAvro(RelationSpec spec, Schemas schemas) {
    this.spec = spec;
    this.schemas = schemas;
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
    row = new FlatRow(new Decoder(builder, new AvroKey(builder, schemas)), spec);
    message = new AvroMessage(schemas);
    image = AvroImage.of(message.in, builder, FlatRow.extraNames(spec));
  }

  private void decodeOrReject(int relation, byte[] key, byte[] value, ChangeSink sink) {
    if (value == null) {
      row.tombstone(relation, key, sink);
      return;
    }
    image.scan(message.open(value));
    message.in.finish();
    if (!image.there) {
      row.tombstone(relation, key, sink);
      return;
    }
    row.apply(relation, key, image, deleted(), sink);
  }

  /** True and, as Debezium's unwrapping writes it, "true". */
  private boolean deleted() {
    int index = spec.columns().size();
    if (!image.present(index)) {
      return false;
    }
    return switch (image.enter(index)) {
      case BOOLEAN -> message.in.readByte() != 0;
      case STRING -> word(message.in);
      default -> throw Rejected.wrongType("not a boolean").in(FlatRow.DELETED);
    };
  }

  private static boolean word(AvroCursor in) {
    int length = in.readLength();
    String word = new String(in.bytes, in.skip(length), length);
    if (!word.equals("true") && !word.equals("false")) {
      throw Rejected.wrongType("not a boolean").in(FlatRow.DELETED);
    }
    return word.equals("true");
  }
}
