package dev.joinery.kernel.format;

import java.util.Arrays;
import java.util.List;
import org.apache.avro.Schema;
import org.apache.spark.sql.types.DataType;

/** A writer's record as its reader sees it: which field is which column, and how it is read. */
final class AvroRecord {
  private static final int NEVER = -1;
  private static final int ALWAYS = -2;

  /** By column, null where the writer has none. */
  final AvroReader[] readers;

  final Schema[] schemas;

  /** By field, in the writer's order; a column of -1 is none of ours. */
  private final AvroSkips.Skip[] skips;

  private final int[] columns;

  /** By column: how the branch of a null is written, {@link #NEVER} or {@link #ALWAYS}. */
  private final int[] nulls;

  private AvroRecord(int fields, int columns) {
    skips = new AvroSkips.Skip[fields];
    this.columns = new int[fields];
    readers = new AvroReader[columns];
    schemas = new Schema[columns];
    nulls = new int[columns];
  }

  /**
   * @param names the columns' names, of which the first have types
   * @param types the declared types
   * @param unit what a timestamp's number counts where the schema does not say
   */
  static AvroRecord of(
      Schema schema,
      List<String> names,
      DataType[] types,
      Temporals.Unit unit,
      AvroSkips skips) {
    List<Schema.Field> fields = schema.getFields();
    AvroReaders readers = new AvroReaders(skips, unit);
    AvroRecord record = new AvroRecord(fields.size(), names.size());
    for (int i = 0; i < fields.size(); i++) {
      Schema field = fields.get(i).schema();
      int column = names.indexOf(fields.get(i).name());
      record.skips[i] = skips.of(field);
      record.columns[i] = column;
      if (column >= 0) {
        record.schemas[column] = field;
        record.nulls[column] = nullBranch(field);
        record.readers[column] = column < types.length ? readers.of(types[column], field) : null;
      }
    }
    return record;
  }

  private static int nullBranch(Schema schema) {
    if (schema.getType() == Schema.Type.NULL) {
      return ALWAYS;
    }
    if (schema.getType() != Schema.Type.UNION) {
      return NEVER;
    }
    for (int i = 0; i < schema.getTypes().size(); i++) {
      if (schema.getTypes().get(i).getType() == Schema.Type.NULL) {
        return 2 * i;
      }
    }
    return NEVER;
  }

  /** Steps over a record and tells where its columns stand; those it does not have at -1. */
  void scan(AvroCursor in, int[] from, int[] to) {
    Arrays.fill(from, -1);
    in.enter();
    for (int i = 0; i < skips.length; i++) {
      int start = in.at;
      skips[i].skip(in);
      int column = columns[i];
      if (column >= 0) {
        from[column] = start;
        to[column] = in.at;
      }
    }
    in.leave();
  }

  /** Whether the value of a column that begins there is null. */
  boolean isNull(AvroCursor in, int from, int column) {
    int branch = nulls[column];
    return branch == ALWAYS || (branch >= 0 && in.bytes[from] == branch);
  }
}
