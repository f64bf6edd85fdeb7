package dev.joinery.kernel.format;

/** Flat rows as Avro, by the schema they were written with. */
final class FlatAvro implements RecordReader {
  private final FlatRow row;
  private final AvroMessage message;
  private final AvroImage image;

  FlatAvro(RelationSpec spec, Schemas schemas) {
    RowBuilder builder = new RowBuilder(spec);
    row = new FlatRow(new Decoder(builder, new AvroKey(builder, schemas)), spec);
    message = new AvroMessage(schemas);
    image = AvroImage.of(message.in, builder, FlatRow.extraNames(spec));
  }

  @Override
  public Decoder decoder() {
    return row.decoder;
  }

  @Override
  public void read(int relation, byte[] key, byte[] value, ChangeSink sink) {
    image.scan(message.open(value));
    message.in.finish();
    if (image.there) {
      row.apply(relation, key, image, sink);
    } else {
      row.decoder.tombstone(relation, key, sink);
    }
  }
}
