package dev.joinery.capture;

import java.util.ArrayList;
import java.util.List;

/**
 * A name, a keyword or a sign of a statement of SQL.
 *
 * @param text without its quotes
 * @param quoted it is a name, whatever it reads
 */
record Word(String text, boolean quoted) {
  private static final int MOST = 100_000;

  /**
   * Returns the words of a statement, without comments; each text is one sign. Of one that is very
   * long, as by its values, it returns the first ones.
   */
  static List<Word> of(String sql) {
    List<Word> found = new ArrayList<>();
    Scanner scanner = new Scanner(sql);
    for (Word each = scanner.next(); each != null && found.size() < MOST; each = scanner.next()) {
      found.add(each);
    }
    return found;
  }

  /** Returns whether it is one of some keywords or signs. */
  boolean is(String... any) {
    for (String each : any) {
      if (!quoted && text.equalsIgnoreCase(each)) {
        return true;
      }
    }
    return false;
  }

  /** Returns whether it may be a name, as a keyword also may. */
  boolean named() {
    return quoted || part(text.charAt(0));
  }

  private static boolean part(char each) {
    return Character.isLetterOrDigit(each) || each == '_' || each == '$' || each >= 0x80;
  }

  /** Where it is in a statement. */
  private static final class Scanner {
    private final String sql;
    private int at;

    Scanner(String sql) {
      this.sql = sql;
    }

    Word next() {
      while (at < sql.length()) {
        char first = sql.charAt(at);
        if (first == '`' || first == '"') {
          return new Word(quoted(first), true);
        }
        if (first == '\'') {
          quoted(first);
          return new Word("'", false);
        }
        if (part(first)) {
          return new Word(plain(), false);
        }
        if (!skipped(first)) {
          at++;
          return new Word(String.valueOf(first), false);
        }
      }
      return null;
    }

    /** Passes a comment or a space; of a comment that servers execute, its signs alone. */
    private boolean skipped(char first) {
      if (Character.isWhitespace(first)) {
        at++;
      } else if (sql.startsWith("/*!", at) || sql.startsWith("/*M!", at)) {
        at = sql.indexOf('!', at) + 1;
        while (at < sql.length() && Character.isDigit(sql.charAt(at))) {
          at++;
        }
      } else if (sql.startsWith("/*", at)) {
        skipTo("*/", at + 2);
      } else if (sql.startsWith("*/", at)) {
        at += 2;
      } else if (first == '#' || dashes()) {
        skipTo("\n", at);
      } else {
        return false;
      }
      return true;
    }

    private boolean dashes() {
      boolean last = at + 2 >= sql.length();
      return sql.startsWith("--", at) && (last || sql.charAt(at + 2) <= ' ');
    }

    private void skipTo(String end, int from) {
      int found = sql.indexOf(end, from);
      at = found < 0 ? sql.length() : found + end.length();
    }

    private String plain() {
      int begin = at;
      while (at < sql.length() && part(sql.charAt(at))) {
        at++;
      }
      return sql.substring(begin, at);
    }

    private String quoted(char quote) {
      StringBuilder read = new StringBuilder();
      for (at++; at < sql.length(); at++) {
        char each = sql.charAt(at);
        if (each == quote) {
          at++;
          if (at >= sql.length() || sql.charAt(at) != quote) {
            break;
          }
        } else if (each == '\\' && quote != '`' && at + 1 < sql.length()) {
          at++;
        }
        read.append(sql.charAt(at));
      }
      return read.toString();
    }
  }
}
