package dev.joinery.kernel.format;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.Arrays;
import java.util.List;

/** Debezium's change events as JSON, with or without schemas, told apart record by record. */
final class DebeziumJson implements Format {
  private final RelationSpec spec;
  private transient Envelope envelope;

  DebeziumJson(RelationSpec spec) {
    this.spec = spec;
  }

  @Override
  public void decode(int relation, byte[] key, byte[] value, ChangeSink sink) {
    if (envelope == null) {
      envelope = new Envelope(spec);
    }
    try {
      envelope.decode(relation, key, value, sink);
    } catch (Rejected rejected) {
      sink.deadLetter(relation, rejected.reason, rejected.detail());
    }
  }

  /** One event: its images, operation and position; remembers the last schema. */
  private static final class Envelope {
    private static final int BEFORE = 0;
    private static final int AFTER = 1;
    private static final int SOURCE = 2;
    private static final int OP = 3;
    private static final int SCHEMA = 4;
    private static final int PAYLOAD = 5;
    private static final String DELETE_FIX =
        "set REPLICA IDENTITY so that deletes carry the key, or send the message's key";

    private final Decoder decoder;
    private final JsonCursor json;
    private final Names names =
        new Names(List.of("before", "after", "source", "op", "schema", "payload"));
    private final Image before;
    private final Image after;
    private final PositionColumn positionColumn;

    private int count;
    private int op;
    private boolean positioned;
    private long position;
    private int schemaFrom;
    private int schemaTo;
    private int payloadFrom;

    /** The schema that the images' readers stand for; empty: none. */
    private byte[] lastSchema = new byte[0];

    private ValueReader[] withSchema;
    private final ValueReader[] withoutSchema;

    Envelope(RelationSpec spec) {
      decoder = new Decoder(spec);
      json = decoder.json;
      int declared = spec.position() == null ? -1 : spec.columns().indexOf(spec.position());
      boolean extra = spec.position() != null && declared < 0;
      List<String> more = extra ? List.of(spec.position()) : List.of();
      before = new Image(json, decoder.row, more);
      after = new Image(json, decoder.row, more);
      withoutSchema = after.readers;
      positionColumn =
          spec.position() == null
              ? null
              : new PositionColumn(extra ? spec.columns().size() : declared, spec.position());
    }

    void decode(int relation, byte[] key, byte[] value, ChangeSink sink) {
      if (value == null) {
        decoder.tombstone(relation, key, sink);
        return;
      }
      if (!decoder.open(value)) {
        return;
      }
      scan();
      json.finish();
      boolean wrapped = count == 2 && schemaFrom >= 0 && payloadFrom >= 0;
      if (wrapped && !unwrap(value)) {
        decoder.tombstone(relation, key, sink);
        return;
      }
      before.readers = wrapped && withSchema != null ? withSchema : withoutSchema;
      after.readers = before.readers;
      apply(relation, key, sink);
    }

    private void scan() {
      count = 0;
      op = 0;
      before.there = false;
      after.there = false;
      positioned = false;
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
      boolean letter = json.to - json.from == 3 && json.text[json.from] == '"';
      op = letter ? json.text[json.from + 1] : -1;
    }

    private void scanSource() {
      positioned = false;
      if (json.peek() != '{') {
        json.skipValue();
        return;
      }
      byte[] text = json.text;
      for (boolean more = json.firstName(); more; more = json.nextName()) {
        int at = json.nameFrom;
        boolean lsn =
            json.nameTo - at == 3 && text[at] == 'l' && text[at + 1] == 's' && text[at + 2] == 'n';
        json.skipValue();
        if (lsn) {
          readLsn();
        }
      }
    }

    private void readLsn() {
      positioned = json.text[json.from] != 'n';
      if (positioned) {
        try {
          position = Numbers.whole(json, json.from, json.to, "a position");
        } catch (Rejected rejected) {
          throw rejected.in("source.lsn");
        }
      }
    }

    /** Schemas repeat: one that is known byte for byte is stepped over. */
    private void skipSchema() {
      json.peek();
      byte[] text = json.text;
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
      if (Arrays.equals(value, schemaFrom, schemaTo, lastSchema, 0, lastSchema.length)) {
        return;
      }
      JsonNode schema = MessageKey.parse(value, schemaFrom, schemaTo);
      JsonNode row = Readers.field(schema, "after");
      withSchema = decoder.row.readers(row == null ? Readers.field(schema, "before") : row);
      // Only an object may be stepped over: other values do not tell where they end.
      lastSchema = schema == null ? new byte[0] : Arrays.copyOfRange(value, schemaFrom, schemaTo);
    }

    private void apply(int relation, byte[] key, ChangeSink sink) {
      switch (op) {
        case 'c', 'r' -> upsert(relation, key, true, sink);
        case 'u' -> update(relation, key, sink);
        case 'd' -> {
          readPosition(before);
          decoder.delete(relation, before, key, positioned, position, sink, DELETE_FIX);
        }
        case 'm' -> sink.count(relation, "ignored_messages");
        case 't' -> {
          throw Rejected.truncate("the table was truncated at the source; its rows stay here");
        }
        case 0 -> throw Rejected.undecodable("no \"op\": not a change event of Debezium");
        default -> throw Rejected.undecodable("an \"op\" that Debezium does not document");
      }
    }

    private void upsert(int relation, byte[] key, boolean whole, ChangeSink sink) {
      if (!after.there) {
        throw Rejected.undecodable("an upsert without \"after\"");
      }
      decoder.buildUpsert(after, key, whole);
      readPosition(after);
      decoder.upsert(relation, positioned, position, sink);
    }

    private void update(int relation, byte[] key, ChangeSink sink) {
      if (!after.there || !decoder.keyChanged(before, after)) {
        upsert(relation, key, false, sink);
        return;
      }
      // Nothing is told before all of it is known to be readable.
      decoder.buildUpsert(after, key, true);
      readPosition(after);
      decoder.delete(relation, before, key, positioned, position, sink, DELETE_FIX);
      decoder.buildUpsert(after, key, true);
      decoder.upsert(relation, positioned, position, sink);
    }

    private void readPosition(Image image) {
      if (positionColumn != null) {
        positioned = positionColumn.read(image);
        position = positionColumn.position;
      }
    }
  }
}
