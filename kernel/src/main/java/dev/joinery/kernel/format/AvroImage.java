package dev.joinery.kernel.format;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import org.apache.avro.Schema;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;
import org.apache.spark.sql.types.DataType;

/** An image in an Avro message, and the readers for its values by its writer's schema. */
final class AvroImage extends Image {
  private final AvroCursor in;
  private final List<String> names;
  private final DataType[] types;
  private final Temporals.Unit unit;
  private final Map<Schema, Shape> shapes = new IdentityHashMap<>();
  private final ValueReader[] declared;
  private final int[] from;
  private final int[] to;
  private final IsoText iso = new IsoText();
  private Shape shape;

  /** A schema's record, and Debezium's placeholder in each column. */
  private record Shape(AvroRecord record, byte[][] placeholders) {}

  /** Returns an image of a relation's columns, and of further names behind them. */
  static AvroImage of(AvroCursor in, RowBuilder builder, List<String> extra) {
    List<String> names = new ArrayList<>(builder.columns);
    names.addAll(extra);
    return new AvroImage(in, names, builder.types, builder.unit);
  }

  /**
   * @param types those of the first names; only these can be written
   */
  AvroImage(AvroCursor in, List<String> names, DataType[] types, Temporals.Unit unit) {
    this.in = in;
    this.names = names;
    this.types = types;
    this.unit = unit;
    from = new int[names.size()];
    to = new int[names.size()];
    declared = Readers.all(types, unit);
  }

  /** Reads the record, or the union of one with null, that stands at the cursor. */
  void scan(Schema schema) {
    Schema found = schema;
    if (schema.getType() == Schema.Type.UNION) {
      found = schema.getTypes().get(in.readIndex(schema.getTypes().size()));
    }
    there = found.getType() == Schema.Type.RECORD;
    if (there) {
      shape = shapes.computeIfAbsent(found, this::shapeOf);
      shape.record.scan(in, from, to);
    } else if (found.getType() != Schema.Type.NULL) {
      throw Rejected.undecodable("a row that is not a record");
    }
  }

  private Shape shapeOf(Schema schema) {
    AvroRecord record = AvroRecord.of(schema, names, types, unit, new AvroSkips());
    byte[][] placeholders = new byte[names.size()][];
    for (int i = 0; i < placeholders.length; i++) {
      placeholders[i] =
          record.schemas[i] == null ? null : AvroPlaceholder.of(record.schemas[i]);
    }
    return new Shape(record, placeholders);
  }

  @Override
  boolean absent(int column) {
    return from[column] < 0;
  }

  @Override
  boolean present(int column) {
    return from[column] >= 0 && !shape.record.isNull(in, from[column], column);
  }

  @Override
  boolean unavailable(int column) {
    byte[] placeholder = shape.placeholders[column];
    return placeholder != null
        && to[column] - from[column] == placeholder.length
        && Arrays.equals(
            in.bytes, from[column], to[column], placeholder, 0, placeholder.length);
  }

  @Override
  void write(int column, UnsafeRowWriter writer) {
    in.at = from[column];
    shape.record.readers[column].read(in, writer, column);
  }

  @Override
  void writeNull(int column, UnsafeRowWriter writer) {
    declared[column].writeNull(writer, column);
  }

  @Override
  boolean sameBytes(int column, Image other) {
    AvroImage second = (AvroImage) other;
    return shape == second.shape
        && Arrays.equals(
            in.bytes,
            from[column],
            to[column],
            in.bytes,
            second.from[column],
            second.to[column]);
  }

  /** Returns the type that a column has in the record at hand, of a union the chosen one. */
  Schema.Type enter(int column) {
    in.at = from[column];
    Schema schema = shape.record.schemas[column];
    if (schema.getType() == Schema.Type.UNION) {
      return schema.getTypes().get(in.readIndex(schema.getTypes().size())).getType();
    }
    return schema.getType();
  }

  @Override
  long position(int column) {
    return switch (enter(column)) {
      case INT, LONG -> in.readLong();
      case FLOAT -> AvroNumbers.withoutFraction(in.readFloat(), "a position");
      case DOUBLE -> AvroNumbers.withoutFraction(in.readDouble(), "a position");
      case STRING -> {
        int length = in.readLength();
        int start = in.skip(length);
        yield PositionColumn.ofText(iso, in.bytes, start, start + length);
      }
      default -> throw Rejected.wrongType("neither a number nor a text");
    };
  }
}
