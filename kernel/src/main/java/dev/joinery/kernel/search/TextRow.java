package dev.joinery.kernel.search;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.catalyst.InternalRow;

/** A row that text queries are asked of: the words of each column are found once. */
final class TextRow {
  private final TextColumns columns;
  private final InternalRow row;
  private final Column[] words;

  TextRow(TextColumns columns, InternalRow row) {
    this.columns = columns;
    this.row = row;
    this.words = new Column[columns.count()];
  }

  /** The words of a column: each of its texts by itself, and all without their order. */
  record Column(List<List<String>> texts, Set<String> all) {}

  InternalRow row() {
    return row;
  }

  int columns() {
    return words.length;
  }

  Column of(int column) {
    if (words[column] == null) {
      List<List<String>> texts = new ArrayList<>();
      Set<String> all = new HashSet<>();
      columns.texts(
          column,
          row,
          text -> {
            List<String> found = Words.of(text);
            texts.add(found);
            all.addAll(found);
          });
      words[column] = new Column(texts, all);
    }
    return words[column];
  }
}
