package dev.joinery.kernel.format;

import java.nio.charset.StandardCharsets;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeWriter;

/**
 * What a flat row says, whatever it is written in: it is an upsert, with {@code __deleted} a
 * delete, a null value under a key a tombstone; {@code __position} is the source's position.
 */
final class FlatRow {
  private static final String DELETED = "__deleted";
  private static final String POSITION = "__position";
  private static final String DELETE_FIX = "send its key columns, or the message's key";

  final Decoder decoder;
  private final int deletedIndex;
  private final Deleted deleted = new Deleted();
  private final PositionColumn position;

  FlatRow(Decoder decoder, RelationSpec spec) {
    this.decoder = decoder;
    deletedIndex = spec.columns().size();
    String name = positionName(spec);
    int declared = spec.columns().indexOf(name);
    position = new PositionColumn(declared < 0 ? deletedIndex + 1 : declared, name);
  }

  /** Returns the names beside the columns that the image needs. */
  static List<String> extraNames(RelationSpec spec) {
    String name = positionName(spec);
    return spec.columns().contains(name) ? List.of(DELETED) : List.of(DELETED, name);
  }

  private static String positionName(RelationSpec spec) {
    return spec.position() == null ? POSITION : spec.position();
  }

  /** Tells the sink what the row says. */
  void apply(int relation, byte[] key, Image image, ChangeSink sink) {
    boolean gone = deleted.read(image, deletedIndex);
    boolean positioned = position.read(image);
    if (gone) {
      decoder.deleteTelling(
          relation, image, key, positioned, position.position, sink, DELETE_FIX);
      return;
    }
    decoder.buildUpsert(image, key, false);
    decoder.upsert(relation, positioned, position.position, sink);
  }

  /** Takes true and, as Debezium's unwrapping writes it, "true". */
  private static final class Deleted extends Target {
    private boolean last;

    Deleted() {
      super("boolean");
    }

    boolean read(Image image, int index) {
      if (!image.present(index)) {
        return false;
      }
      try {
        image.tell(index, this);
      } catch (Rejected rejected) {
        throw rejected.in(DELETED);
      }
      return last;
    }

    @Override
    void bool(boolean value, UnsafeWriter none, int ordinal) {
      last = value;
    }

    @Override
    void text(byte[] chars, int from, int to, UnsafeWriter none, int ordinal) {
      String word = new String(chars, from, to - from, StandardCharsets.UTF_8);
      if (!word.equals("true") && !word.equals("false")) {
        throw Rejected.wrongType("not a boolean");
      }
      last = word.equals("true");
    }
  }
}
