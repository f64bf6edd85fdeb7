package dev.joinery.kernel.search;

import java.util.Collections;
import java.util.List;
import java.util.function.Predicate;

/**
 * What a text query is made of, and whether a row is what it asks for.
 *
 * <p>Invariant: {@code text_query.py} says the same of every row.
 */
sealed interface TextQuery {
  boolean holds(TextRow row);

  /** The words are next to each other, in one text; one word is a phrase, too. */
  record Phrase(int[] columns, List<String> words) implements TextQuery {
    @Override
    public boolean holds(TextRow row) {
      for (int each : columns) {
        TextRow.Column column = row.of(each);
        if (words.size() == 1 ? column.all().contains(words.get(0)) : isNextToEachOther(column)) {
          return true;
        }
      }
      return false;
    }

    private boolean isNextToEachOther(TextRow.Column column) {
      return column.all().containsAll(words)
          && column.texts().stream().anyMatch(each -> Collections.indexOfSubList(each, words) >= 0);
    }
  }

  /** A word is like a pattern: code points, {@link #ONE} for any, {@link #MANY} for any number. */
  record Pattern(int[] columns, int[] parts, String prefix) implements TextQuery {
    static final int ONE = -1;
    static final int MANY = -2;

    @Override
    public boolean holds(TextRow row) {
      return anyWord(columns, row, word -> word.startsWith(prefix) && like(word));
    }

    /** Goes back to the last sign for any number alone: an earlier one finds no more. */
    private boolean like(String word) {
      int[] points = word.codePoints().toArray();
      int part = 0;
      int at = 0;
      int behind = -1;
      int from = 0;
      while (at < points.length) {
        if (part < parts.length && parts[part] == MANY) {
          behind = ++part;
          from = at;
        } else if (part < parts.length && (parts[part] == ONE || parts[part] == points[at])) {
          part++;
          at++;
        } else if (behind >= 0) {
          part = behind;
          at = ++from;
        } else {
          return false;
        }
      }
      while (part < parts.length && parts[part] == MANY) {
        part++;
      }
      return part == parts.length;
    }
  }

  /** A word lies between two, compared by code points; null is not a bound. */
  record Range(int[] columns, String low, String high, boolean lowIn, boolean highIn)
      implements TextQuery {
    @Override
    public boolean holds(TextRow row) {
      return anyWord(columns, row, this::between);
    }

    private boolean between(String word) {
      int above = low == null ? 1 : compare(word, low);
      int below = high == null ? -1 : compare(word, high);
      return (above > 0 || (above == 0 && lowIn)) && (below < 0 || (below == 0 && highIn));
    }

    private static int compare(String one, String other) {
      for (int i = 0; i < Math.min(one.length(), other.length()); i++) {
        if (one.charAt(i) != other.charAt(i)) {
          boolean apart =
              Character.isSurrogate(one.charAt(i)) != Character.isSurrogate(other.charAt(i));
          int order = Character.compare(one.charAt(i), other.charAt(i));
          return !apart ? order : Character.isSurrogate(one.charAt(i)) ? 1 : -1;
        }
      }
      return Integer.compare(one.length(), other.length());
    }
  }

  /** A column that is not text has a value; {@code condition} is null until {@code sql} is read. */
  record Where(String sql, Condition condition) implements TextQuery {
    @Override
    public boolean holds(TextRow row) {
      return condition.of(row.row()) == Condition.Verdict.HOLDS;
    }
  }

  /** Any row. */
  record Everything() implements TextQuery {
    @Override
    public boolean holds(TextRow row) {
      return true;
    }
  }

  /** All that must and none that must not; one that should, where nothing must. */
  record Clauses(List<TextQuery> must, List<TextQuery> should, List<TextQuery> mustNot)
      implements TextQuery {
    @Override
    public boolean holds(TextRow row) {
      Predicate<TextQuery> holds = each -> each.holds(row);
      boolean found = must.isEmpty() ? should.stream().anyMatch(holds) : all(holds);
      return found && mustNot.stream().noneMatch(holds);
    }

    private boolean all(Predicate<TextQuery> holds) {
      return must.stream().allMatch(holds);
    }
  }

  private static boolean anyWord(int[] columns, TextRow row, Predicate<String> holds) {
    for (int each : columns) {
      if (row.of(each).all().stream().anyMatch(holds)) {
        return true;
      }
    }
    return false;
  }
}
