package dev.joinery.capture;

import java.util.ArrayList;
import java.util.List;

/**
 * A table as a statement names it.
 *
 * @param database null where the statement leaves that to the session
 * @param table its own name
 */
record TableName(String database, String table) {
  private static final String[] WRITES = {"insert", "replace", "update", "delete", "with"};
  private static final String[] BEFORE_NAME = {"if", "not", "exists"};
  private static final String[] BEFORE_INTO = {
    "low_priority", "delayed", "high_priority", "ignore", "into"
  };

  /** Returns the tables that a statement creates, alters or drops, or too many. */
  static List<TableName> altered(String sql) {
    List<Word> words = statement(sql);
    int table = indexOf(words, "table", "tables");
    if (table == words.size()) {
      return List.of();
    }
    Word verb = words.get(0);
    List<Word> rest = words.subList(table + 1, words.size());
    if (verb.is("drop", "rename")) {
      return all(rest);
    }
    return verb.is("alter", "create", "truncate") ? first(rest, BEFORE_NAME) : List.of();
  }

  /**
   * Returns the tables whose rows a statement changes, or too many: all that an update or a delete
   * joins, with their aliases, and all that is named by a statement that begins with {@code with}.
   */
  static List<TableName> written(String sql) {
    List<Word> words = statement(sql);
    if (words.isEmpty()) {
      return List.of();
    }
    Word verb = words.get(0);
    List<Word> rest = words.subList(1, words.size());
    if (verb.is("insert", "replace")) {
      return first(rest, BEFORE_INTO);
    }
    if (verb.is("update")) {
      return all(rest.subList(0, indexOf(rest, "set")));
    }
    if (verb.is("delete")) {
      return all(rest.subList(0, indexOf(rest, "where", "order", "limit")));
    }
    return verb.is("with") ? all(rest) : List.of();
  }

  /** Returns the words of a statement, without what MariaDB lets stand before it. */
  private static List<Word> statement(String sql) {
    List<Word> words = Word.of(sql);
    if (!words.isEmpty() && words.get(0).is("set")) {
      int last = indexOf(words, "for");
      words = words.subList(Math.min(last + 1, words.size()), words.size());
    }
    if (!words.isEmpty() && words.get(0).is("analyze")) {
      words = words.subList(indexOf(words, WRITES), words.size());
    }
    return words;
  }

  private static int indexOf(List<Word> words, String... any) {
    int at = 0;
    while (at < words.size() && !words.get(at).is(any)) {
      at++;
    }
    return at;
  }

  /** Returns the name that stands first, after some keywords. */
  private static List<TableName> first(List<Word> words, String... keywords) {
    int at = 0;
    while (at < words.size() && words.get(at).is(keywords)) {
      at++;
    }
    List<TableName> found = all(words.subList(at, words.size()));
    return found.subList(0, Math.min(1, found.size()));
  }

  /** Returns whatever may be a name of a table. */
  private static List<TableName> all(List<Word> words) {
    List<TableName> found = new ArrayList<>();
    for (int at = 0; at < words.size(); at++) {
      if (words.get(at).named()) {
        int begin = at;
        while (at + 2 < words.size() && words.get(at + 1).is(".") && words.get(at + 2).named()) {
          at += 2;
        }
        String name = words.get(begin).text();
        found.add(
            at == begin
                ? new TableName(null, name)
                : new TableName(name, words.get(begin + 2).text()));
      }
    }
    return found;
  }
}
