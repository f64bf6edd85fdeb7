package dev.joinery.kernel.format;

import java.util.List;
import org.apache.avro.Schema;
import org.apache.spark.sql.types.DataType;

/** A writer's record as its reader sees it: which field is which column, and how it is read. */
final class AvroRecord {
  private static final int NEVER = -1;
  private static final int ALWAYS = -2;

  /** By column, null where the writer has none. */
  final Schema[] schemas;

  /** By column; null where the writer has none, or it has no type. */
  final ValueReader[] readers;

  /** By field, in the writer's order; a column of -1 is none of ours. */
  private final AvroSkips.Skip[] skips;

  private final int[] columns;

  /** By column: how the branch of a null is written, {@link #NEVER} or {@link #ALWAYS}. */
  private final int[] nulls;

  /**
   * @param names the columns' names, of which the first have types
   * @param types the declared types
   */
  AvroRecord(Schema schema, List<String> names, DataType[] types, AvroValues values) {
    List<Schema.Field> fields = schema.getFields();
    skips = new AvroSkips.Skip[fields.size()];
    columns = new int[fields.size()];
    schemas = new Schema[names.size()];
    readers = new ValueReader[names.size()];
    nulls = new int[names.size()];
    for (int i = 0; i < columns.length; i++) {
      Schema field = fields.get(i).schema();
      int column = names.indexOf(fields.get(i).name());
      skips[i] = values.skips.of(field);
      columns[i] = column;
      if (column >= 0) {
        schemas[column] = field;
        nulls[column] = nullBranch(field);
        readers[column] = column < types.length ? values.reader(types[column], field) : null;
      }
    }
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

  /** Steps over the record at the cursor and tells where its columns stand. */
  void scan(AvroCursor in, Spans spans) {
    int[] from = spans.from;
    int[] to = spans.to;
    spans.clear();
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
