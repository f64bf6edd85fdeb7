package dev.joinery.kernel.format;

import java.util.Arrays;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import org.apache.avro.Schema;
import org.apache.spark.sql.types.DataType;

/** An image in an Avro message; remembers how the schemas that came lay it out. */
final class AvroImage extends Image {
  private final AvroCursor in;
  private final List<String> names;
  private final DataType[] types;
  private final AvroValues values;
  private final Map<Schema, Shape> shapes = new IdentityHashMap<>();
  private Shape shape;

  /** A schema's record, and Debezium's placeholder in each column. */
  private record Shape(AvroRecord record, byte[][] placeholders) {}

  /** Returns an image of a relation's columns, and of further names behind them. */
  static AvroImage of(AvroCursor in, RowBuilder builder, List<String> extra) {
    return new AvroImage(in, builder.namesAnd(extra), builder.types, builder.unit);
  }

  /**
   * @param types those of the first names; only these can be written
   */
  AvroImage(AvroCursor in, List<String> names, DataType[] types, Temporals.Unit unit) {
    super(in, new Spans(names.size()));
    this.in = in;
    this.names = names;
    this.types = types;
    values = new AvroValues(in, unit);
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
      readers = shape.record.readers;
      shape.record.scan(in, spans);
    } else if (found.getType() != Schema.Type.NULL) {
      throw Rejected.undecodable("a row that is not a record");
    }
  }

  private Shape shapeOf(Schema schema) {
    AvroRecord record = new AvroRecord(schema, names, types, values);
    byte[][] placeholders = new byte[names.size()][];
    for (int i = 0; i < placeholders.length; i++) {
      placeholders[i] =
          record.schemas[i] == null ? null : AvroPlaceholder.of(record.schemas[i]);
    }
    return new Shape(record, placeholders);
  }

  @Override
  boolean present(int column) {
    return !absent(column) && !shape.record.isNull(in, spans.from[column], column);
  }

  @Override
  boolean unavailable(int column) {
    byte[] placeholder = shape.placeholders[column];
    if (placeholder == null) {
      return false;
    }
    int from = spans.from[column];
    int to = spans.to[column];
    return to - from == placeholder.length
        && Arrays.equals(in.bytes, from, to, placeholder, 0, placeholder.length);
  }

  @Override
  void tell(int column, Target target) {
    in.at = spans.from[column];
    values.tell(shape.record.schemas[column], target);
  }

  @Override
  boolean sameBytes(int column, Image other) {
    return shape == ((AvroImage) other).shape && super.sameBytes(column, other);
  }
}
