package dev.joinery.kernel.format;

import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import org.apache.avro.Schema;
import org.apache.spark.sql.types.DataType;

/**
 * Debezium's change events as Avro, by the schema they were written with; remembers how the schemas
 * that came lay out their fields.
 */
final class DebeziumAvro implements RecordReader {
  /** What a field of an envelope is to us. */
  private enum Part {
    BEFORE,
    AFTER,
    SOURCE,
    OP,
    OTHER
  }

  /** A field of an envelope, and how to step over it. */
  private record Field(Part part, Schema schema, AvroSkips.Skip skip) {}

  private final Decoder decoder;
  private final DebeziumEvent event;
  private final AvroMessage message;
  private final AvroCursor in;
  private final AvroImage before;
  private final AvroImage after;
  private final AvroImage source;
  private final PositionColumn lsn = new PositionColumn(0, "source.lsn");
  private final PositionColumn time = new PositionColumn(1, "source.ts_ms");
  private final Map<Schema, Field[]> layouts = new IdentityHashMap<>();

  DebeziumAvro(RelationSpec spec, Schemas schemas) {
    RowBuilder row = new RowBuilder(spec);
    decoder = new Decoder(row, new AvroKey(row, schemas));
    event = new DebeziumEvent(decoder, spec);
    message = new AvroMessage(schemas);
    in = message.in;
    before = AvroImage.of(in, row, DebeziumEvent.extraNames(spec));
    after = AvroImage.of(in, row, DebeziumEvent.extraNames(spec));
    source = new AvroImage(in, List.of("lsn", "ts_ms"), new DataType[0], row.unit);
  }

  @Override
  public Decoder decoder() {
    return decoder;
  }

  @Override
  public void read(int relation, byte[] key, byte[] value, ChangeSink sink) {
    Schema schema = message.open(value);
    if (schema.getType() != Schema.Type.RECORD) {
      throw Rejected.undecodable("no \"op\": not a change event of Debezium");
    }
    scan(layouts.computeIfAbsent(schema, DebeziumAvro::layout));
    in.finish();
    if (lsn.read(source)) {
      event.positioned = true;
      event.position = lsn.position;
    }
    readTime();
    event.apply(relation, key, before, after, sink);
  }

  /** The time is for a metric only: one that cannot be read is none. */
  private void readTime() {
    try {
      event.committed = time.read(source) ? time.position : -1;
    } catch (Rejected notTime) {
      event.committed = -1;
    }
  }

  private static Field[] layout(Schema schema) {
    AvroSkips skips = new AvroSkips();
    return schema.getFields().stream()
        .map(each -> new Field(part(each), each.schema(), skips.of(each.schema())))
        .toArray(Field[]::new);
  }

  private static Part part(Schema.Field field) {
    return switch (field.name()) {
      case "before" -> Part.BEFORE;
      case "after" -> Part.AFTER;
      case "source" -> Part.SOURCE;
      case "op" -> Part.OP;
      default -> Part.OTHER;
    };
  }

  private void scan(Field[] fields) {
    event.restart();
    before.there = false;
    after.there = false;
    source.there = false;
    for (Field field : fields) {
      switch (field.part) {
        case BEFORE -> before.scan(field.schema);
        case AFTER -> after.scan(field.schema);
        case SOURCE -> source.scan(field.schema);
        case OP -> scanOp(field);
        case OTHER -> field.skip.skip(in);
      }
    }
  }

  /** A text or a union with one: its last byte is the letter where it is of one letter. */
  private void scanOp(Field field) {
    int from = in.at;
    field.skip.skip(in);
    boolean letter = in.at - from >= 2 && in.bytes[in.at - 2] == 2;
    event.op = letter ? in.bytes[in.at - 1] : -1;
  }
}
