package dev.joinery.kernel.format;

import java.util.List;

/**
 * What an event of Debezium says, whatever it is written in: its operation, images and position,
 * as the last scan found them.
 */
final class DebeziumEvent {
  private static final String DELETE_FIX =
      "set REPLICA IDENTITY so that deletes carry the key, or send the message's key";

  /** The operation's letter; 0 where there is none, -1 where it is not a letter. */
  int op;

  boolean positioned;
  long position;

  /** When the source committed it, in milliseconds since 1970; negative where it does not say. */
  long committed;

  private final Decoder decoder;
  private final PositionColumn positionColumn;

  DebeziumEvent(Decoder decoder, RelationSpec spec) {
    this.decoder = decoder;
    List<String> columns = spec.columns();
    String name = spec.position();
    int declared = name == null ? -1 : columns.indexOf(name);
    int index = declared < 0 ? columns.size() : declared;
    positionColumn = name == null ? null : new PositionColumn(index, name);
  }

  /** Returns the names beside the columns that both images need. */
  static List<String> extraNames(RelationSpec spec) {
    boolean extra = spec.position() != null && !spec.columns().contains(spec.position());
    return extra ? List.of(spec.position()) : List.of();
  }

  void restart() {
    op = 0;
    positioned = false;
    committed = -1;
  }

  /** Tells the sink what the event says. */
  void apply(int relation, byte[] key, Image before, Image after, ChangeSink sink) {
    tell(relation, key, before, after, sink);
    if (op == 'r') {
      sink.snapshot(relation);
    }
    if (committed >= 0) {
      sink.committed(relation, committed);
    }
  }

  private void tell(int relation, byte[] key, Image before, Image after, ChangeSink sink) {
    switch (op) {
      case 'c', 'r' -> upsert(relation, key, after, true, sink);
      case 'u' -> update(relation, key, before, after, sink);
      case 'd' -> {
        readPosition(before);
        decoder.delete(relation, before, key, positioned, position, sink, DELETE_FIX);
      }
      case 'm' -> sink.count(relation, "ignored_messages");
      case 't' ->
          throw Rejected.truncate("the table was truncated at the source; its rows stay here");
      case 0 -> throw Rejected.undecodable("no \"op\": not a change event of Debezium");
      default -> throw Rejected.undecodable("an \"op\" that Debezium does not document");
    }
  }

  private void upsert(int relation, byte[] key, Image after, boolean whole, ChangeSink sink) {
    if (!after.there) {
      throw Rejected.undecodable("an upsert without \"after\"");
    }
    decoder.buildUpsert(after, key, whole);
    readPosition(after);
    decoder.upsert(relation, positioned, position, sink);
  }

  private void update(int relation, byte[] key, Image before, Image after, ChangeSink sink) {
    if (sink.insertsOnly()) {
      sink.count(relation, "ignored_updates");
      return;
    }
    if (!after.there || !decoder.keyChanged(before, after)) {
      upsert(relation, key, after, false, sink);
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
