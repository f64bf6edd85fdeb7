package dev.joinery.kernel.format;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.Arrays;
import java.util.List;

/**
 * Debezium's change events as JSON, with or without schemas, told apart record by record; remembers
 * the last schema.
 */
final class DebeziumJson implements RecordReader {
  private static final int BEFORE = 0;
  private static final int AFTER = 1;
  private static final int SOURCE = 2;
  private static final int OP = 3;
  private static final int SCHEMA = 4;
  private static final int PAYLOAD = 5;

  private static final byte[] TS_MS = {'t', 's', '_', 'm', 's'};

  private final Decoder decoder;
  private final DebeziumEvent event;
  private final JsonCursor json = new JsonCursor();
  private final Names names =
      new Names(List.of("before", "after", "source", "op", "schema", "payload"));
  private final JsonImage before;
  private final JsonImage after;

  private int count;
  private int schemaFrom;
  private int schemaTo;
  private int payloadFrom;

  /** The schema that the images' readers stand for; empty: none. */
  private byte[] lastSchema = new byte[0];

  private ValueReader[] withSchema;
  private final ValueReader[] withoutSchema;

  /** The wrapped event at hand has no schema: Connect's converter writes null in its place. */
  private boolean schemaless;

  DebeziumJson(RelationSpec spec) {
    RowBuilder row = new RowBuilder(spec);
    decoder = new Decoder(row, new JsonKey(row));
    event = new DebeziumEvent(decoder, spec);
    before = new JsonImage(json, row, DebeziumEvent.extraNames(spec));
    after = new JsonImage(json, row, DebeziumEvent.extraNames(spec));
    withoutSchema = after.readers;
  }

  @Override
  public Decoder decoder() {
    return decoder;
  }

  @Override
  public void read(int relation, byte[] key, byte[] value, ChangeSink sink) {
    json.openObject(value);
    scan();
    json.finish();
    boolean wrapped = count == 2 && schemaFrom >= 0 && payloadFrom >= 0;
    if (wrapped && !unwrap(value)) {
      decoder.tombstone(relation, key, sink);
      return;
    }
    before.readers = wrapped && !schemaless ? withSchema : withoutSchema;
    after.readers = before.readers;
    event.apply(relation, key, before, after, sink);
  }

  private void scan() {
    count = 0;
    event.restart();
    before.there = false;
    after.there = false;
    schemaFrom = -1;
    payloadFrom = -1;
    names.restart();
    for (boolean more = json.firstName(); more; more = json.nextName()) {
      count++;
      switch (names.find(json)) {
        case BEFORE -> before.scan();
        case AFTER -> after.scan();
        case SOURCE -> scanSource();
        case OP -> scanOp();
        case SCHEMA -> skipSchema();
        case PAYLOAD -> {
          json.skipValue();
          payloadFrom = json.from;
        }
        default -> json.skipValue();
      }
    }
  }

  private void scanOp() {
    json.skipValue();
    boolean letter = json.to - json.from == 3 && json.bytes[json.from] == '"';
    event.op = letter ? json.bytes[json.from + 1] : -1;
  }

  private void scanSource() {
    event.positioned = false;
    if (json.peek() != '{') {
      json.skipValue();
      return;
    }
    byte[] text = json.bytes;
    for (boolean more = json.firstName(); more; more = json.nextName()) {
      int at = json.nameFrom;
      boolean lsn =
          json.nameTo - at == 3 && text[at] == 'l' && text[at + 1] == 's' && text[at + 2] == 'n';
      boolean time = json.nameTo - at == 5 && Arrays.equals(text, at, at + 5, TS_MS, 0, 5);
      json.skipValue();
      if (lsn) {
        readLsn();
      } else if (time) {
        readTime();
      }
    }
  }

  /** The time is for a metric only: one that cannot be read is none. */
  private void readTime() {
    try {
      event.committed = json.whole(json.from, json.to, "a time");
    } catch (Rejected notTime) {
      event.committed = -1;
    }
  }

  private void readLsn() {
    event.positioned = json.bytes[json.from] != 'n';
    if (event.positioned) {
      try {
        event.position = json.whole(json.from, json.to, "a position");
      } catch (Rejected rejected) {
        throw rejected.in("source.lsn");
      }
    }
  }

  /** Schemas repeat: one that is known byte for byte is stepped over. */
  private void skipSchema() {
    json.peek();
    byte[] text = json.bytes;
    int from = json.at;
    int length = lastSchema.length;
    if (length > 0
        && json.end - from >= length
        && Arrays.equals(text, from, from + length, lastSchema, 0, length)) {
      json.at = from + length;
      schemaFrom = from;
      schemaTo = json.at;
      return;
    }
    json.skipValue();
    schemaFrom = json.from;
    schemaTo = json.to;
  }

  /** Goes into the payload; false where it is null, which is a tombstone. */
  private boolean unwrap(byte[] value) {
    learnSchema(value);
    json.at = payloadFrom;
    if (json.peek() == 'n') {
      return false;
    }
    if (json.peek() != '{') {
      throw Rejected.undecodable("the payload is not an object");
    }
    scan();
    return true;
  }

  private void learnSchema(byte[] value) {
    schemaless = value[schemaFrom] != '{';
    if (schemaless
        || Arrays.equals(value, schemaFrom, schemaTo, lastSchema, 0, lastSchema.length)) {
      return;
    }
    JsonNode schema = JsonKey.parse(value, schemaFrom, schemaTo);
    JsonNode row = JsonValues.field(schema, "after");
    withSchema = after.readers(row == null ? JsonValues.field(schema, "before") : row);
    lastSchema = Arrays.copyOfRange(value, schemaFrom, schemaTo);
  }
}
