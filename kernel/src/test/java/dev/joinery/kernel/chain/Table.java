package dev.joinery.kernel.chain;

import dev.joinery.kernel.program.Program;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A relation under test: its first columns are its key; rows are lists of values in column order.
 *
 * @param where a boolean column that decides whether a row exists, or null
 */
public record Table(String name, int keyColumns, StructType type, String where) {
  public static Table of(String name, int keyColumns, String ddl) {
    return new Table(name, keyColumns, StructType.fromDDL(ddl), null);
  }

  Table where(String column) {
    return new Table(name, keyColumns, type, column);
  }

  int ordinal(String column) {
    return type.fieldIndex(column);
  }

  public int[] key() {
    return IntStream.range(0, keyColumns).toArray();
  }

  public List<Program.Slot> slots() {
    List<Program.Slot> slots = new ArrayList<>();
    for (var field : type.fields()) {
      slots.add(new Program.Slot(field.name(), field.dataType()));
    }
    return slots;
  }

  List<Object> keyOf(List<Object> row) {
    return new ArrayList<>(row.subList(0, keyColumns));
  }

  /** The row as Spark holds it: text is not of the language's own kind. */
  public GenericInternalRow internal(List<Object> row) {
    Object[] values = new Object[type.length()];
    for (int i = 0; i < row.size(); i++) {
      values[i] = row.get(i) instanceof String text ? UTF8String.fromString(text) : row.get(i);
    }
    return new GenericInternalRow(values);
  }
}
