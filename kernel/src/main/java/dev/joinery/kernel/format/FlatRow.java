package dev.joinery.kernel.format;

import java.util.List;

/**
 * What a flat row says, whatever it is written in: it is an upsert, with {@code __deleted} a
 * delete, a null value under a key a tombstone; {@code __position} is the source's position.
 */
final class FlatRow {
  static final String DELETED = "__deleted";
  private static final String POSITION = "__position";
  private static final String DELETE_FIX = "send its key columns, or the message's key";

  private final Decoder decoder;
  private final PositionColumn position;

  FlatRow(Decoder decoder, RelationSpec spec) {
    this.decoder = decoder;
    String name = positionName(spec);
    int declared = spec.columns().indexOf(name);
    position = new PositionColumn(declared < 0 ? spec.columns().size() + 1 : declared, name);
  }

  /** Returns the names beside the columns that the image needs, {@link #DELETED} first. */
  static List<String> extraNames(RelationSpec spec) {
    String name = positionName(spec);
    return spec.columns().contains(name) ? List.of(DELETED) : List.of(DELETED, name);
  }

  private static String positionName(RelationSpec spec) {
    return spec.position() == null ? POSITION : spec.position();
  }

  ColumnsSeen columnsSeen() {
    return decoder.row.seen;
  }

  void tombstone(int relation, byte[] key, ChangeSink sink) {
    decoder.tombstone(relation, key, sink);
  }

  /** Tells the sink what the row says. */
  void apply(int relation, byte[] key, Image image, boolean deleted, ChangeSink sink) {
    boolean positioned = position.read(image);
    if (deleted) {
      decoder.delete(relation, image, key, positioned, position.position, sink, DELETE_FIX);
      return;
    }
    decoder.buildUpsert(image, key, false);
    decoder.upsert(relation, positioned, position.position, sink);
  }
}
