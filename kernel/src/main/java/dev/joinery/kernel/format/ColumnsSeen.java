package dev.joinery.kernel.format;

import java.util.Arrays;
import java.util.List;
import java.util.function.ObjLongConsumer;

/**
 * Remembers which declared columns the rows decoded so far had at all, so that a name that the data
 * spells otherwise is found. Once all were seen, a row costs one comparison.
 */
public final class ColumnsSeen {
  private static final int LONGEST_NAME = 64;

  private final List<String> columns;
  private final int given;
  private final boolean[] seen;
  private int left;
  private long rows;
  private Image last;

  /** {@code given} is a column that no record has, and need not have; -1 for none. */
  ColumnsSeen(List<String> columns, int given) {
    this.columns = columns;
    this.given = given;
    seen = new boolean[columns.size()];
    begin();
  }

  private void begin() {
    rows = 0;
    left = seen.length;
    Arrays.fill(seen, false);
    if (given >= 0) {
      seen[given] = true;
      left--;
    }
  }

  /** Takes the image of an upsert. */
  void add(Image image) {
    rows++;
    if (left > 0) {
      look(image);
    }
  }

  private void look(Image image) {
    last = image;
    for (int i = 0; i < seen.length; i++) {
      if (!seen[i] && !image.absent(i)) {
        seen[i] = true;
        left--;
      }
    }
  }

  /**
   * Tells counters: how many {@code rows} there were, {@code unseen:<column>} with the same number
   * for each column that none of them had, and then {@code undeclared:<name>} for names they had
   * beside the columns.
   */
  public void tell(ObjLongConsumer<String> counters) {
    if (rows == 0) {
      return;
    }
    counters.accept("rows", rows);
    for (int i = 0; i < seen.length; i++) {
      if (!seen[i]) {
        counters.accept("unseen:" + columns.get(i), rows);
      }
    }
    if (left > 0) {
      last.undeclared().stream()
          .filter(name -> name.length() <= LONGEST_NAME && !name.startsWith("__"))
          .forEach(name -> counters.accept("undeclared:" + name, 1));
    }
    begin();
  }
}
