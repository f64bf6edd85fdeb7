package dev.joinery.kernel.search;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * The columns of a row that hold no others, by their dotted names, and the texts in those of text.
 *
 * <p>What is in a list has the name of the list. Of one name the first counts.
 */
final class TextColumns {
  /**
   * @param path the names from the row to it
   * @param type of its values, or of the items of its lists
   * @param number among the columns of text; -1 for another
   */
  record Column(List<String> path, DataType type, int number) {}

  private final StructType row;
  private final Map<String, Column> columns = new LinkedHashMap<>();
  private final List<Column> texts = new ArrayList<>();

  TextColumns(StructType row) {
    this.row = row;
    add(List.of(), row);
  }

  private void add(List<String> path, DataType type) {
    if (type instanceof ArrayType list) {
      add(path, list.elementType());
    } else if (type instanceof StructType struct) {
      for (StructField field : struct.fields()) {
        List<String> longer = new ArrayList<>(path);
        longer.add(field.name());
        add(List.copyOf(longer), field.dataType());
      }
    } else {
      String name = String.join(".", path);
      if (!columns.containsKey(name)) {
        boolean text = type instanceof StringType;
        Column column = new Column(path, type, text ? texts.size() : -1);
        columns.put(name, column);
        if (text) {
          texts.add(column);
        }
      }
    }
  }

  StructType row() {
    return row;
  }

  /** Null where there is none of that name. */
  Column get(String name) {
    return columns.get(name);
  }

  /** How many columns of text there are. */
  int count() {
    return texts.size();
  }

  /** Gives the texts of a column. */
  void texts(int number, InternalRow of, Consumer<String> take) {
    texts(of, row, texts.get(number).path(), 0, take);
  }

  private static void texts(
      Object value, DataType type, List<String> path, int at, Consumer<String> take) {
    if (type instanceof ArrayType list) {
      ArrayData items = (ArrayData) value;
      for (int i = 0; i < items.numElements(); i++) {
        if (!items.isNullAt(i)) {
          texts(items.get(i, list.elementType()), list.elementType(), path, at, take);
        }
      }
    } else if (type instanceof StructType struct) {
      InternalRow fields = (InternalRow) value;
      int place = struct.fieldIndex(path.get(at));
      DataType kind = struct.fields()[place].dataType();
      if (!fields.isNullAt(place)) {
        texts(fields.get(place, kind), kind, path, at + 1, take);
      }
    } else {
      take.accept(value.toString());
    }
  }
}
