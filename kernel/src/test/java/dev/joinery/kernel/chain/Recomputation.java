package dev.joinery.kernel.chain;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.StringJoiner;
import java.util.TreeMap;
import java.util.function.LongBinaryOperator;

/** What the documents must be: newest rows in maps, every document computed anew as text. */
final class Recomputation {
  private record Newest(long position, LogChange change) {}

  private final Map<String, Map<List<Object>, Newest>> newest = new HashMap<>();
  private final Map<Tree, Map<List<Object>, List<List<Object>>>> byJoinValue =
      new IdentityHashMap<>();

  /** Takes changes in the order of their log. */
  void apply(Collection<LogChange> changes) {
    for (LogChange change : changes) {
      Map<List<Object>, Newest> rows =
          newest.computeIfAbsent(change.table().name(), each -> new HashMap<>());
      Newest known = rows.get(change.key());
      if (known == null || change.position() >= known.position()) {
        rows.put(change.key(), new Newest(change.position(), change));
      }
    }
  }

  /** All documents of a root, by key. */
  Map<String, String> documents(Tree root) {
    byJoinValue.clear();
    Map<String, String> documents = new TreeMap<>();
    for (List<Object> row : rows(root)) {
      StringJoiner key = new StringJoiner(",", "{", "}");
      for (int i = 0; i < root.table().keyColumns(); i++) {
        key.add(field(root.table().type().fields()[i].name(), row.get(i)));
      }
      documents.put(key.toString(), document(root, row));
    }
    return documents;
  }

  private List<List<Object>> rows(Tree tree) {
    List<List<Object>> rows = new ArrayList<>();
    for (Newest each : newest.getOrDefault(tree.table().name(), Map.of()).values()) {
      if (each.change().isUpsert()
          && holds(tree, tree.table().where(), each.change().row())
          && holds(tree, tree.where(), each.change().row())) {
        rows.add(each.change().row());
      }
    }
    return rows;
  }

  private static boolean holds(Tree tree, String where, List<Object> row) {
    return where == null || Boolean.TRUE.equals(row.get(tree.table().ordinal(where)));
  }

  private String document(Tree tree, List<Object> row) {
    StringJoiner fields = new StringJoiner(",", "{", "}");
    for (int i = 0; i < row.size(); i++) {
      fields.add(field(tree.table().type().fields()[i].name(), row.get(i)));
    }
    for (Tree embed : tree.embeds()) {
      embed(tree, row, embed, fields);
    }
    return fields.toString();
  }

  private void embed(Tree tree, List<Object> row, Tree embed, StringJoiner fields) {
    List<Object> joinValue = columns(tree.table(), embed.parentColumns(), row);
    List<List<Object>> matches =
        byJoinValue
            .computeIfAbsent(embed, this::grouped)
            .getOrDefault(joinValue, new ArrayList<>());
    matches.sort(orderOf(embed));
    int kept = !embed.many() ? 1 : embed.limit() > 0 ? embed.limit() : matches.size();
    List<String> texts =
        matches.stream().limit(kept).map(child -> document(embed, child)).toList();
    if (embed.many()) {
      fields.add("\"" + embed.name() + "\":[" + String.join(",", texts) + "]");
    } else {
      fields.add("\"" + embed.name() + "\":" + (texts.isEmpty() ? "null" : texts.get(0)));
    }
    if (embed.hasTotal()) {
      fields.add(field(embed.name() + "_total", matches.size()));
    }
    for (String aggregate : embed.aggregates()) {
      String[] parts = aggregate.split(":");
      Long value = aggregated(parts[0], matches, embed.table().ordinal(parts[1]));
      fields.add(field(embed.name() + "_" + parts[0] + "_" + parts[1], value));
    }
  }

  /** Rows by join value; those with a null in it join nothing. */
  private Map<List<Object>, List<List<Object>>> grouped(Tree embed) {
    Map<List<Object>, List<List<Object>>> groups = new HashMap<>();
    for (List<Object> row : rows(embed)) {
      List<Object> value = columns(embed.table(), embed.childColumns(), row);
      if (!value.contains(null)) {
        groups.computeIfAbsent(value, each -> new ArrayList<>()).add(row);
      }
    }
    return groups;
  }

  private static List<Object> columns(Table table, List<String> columns, List<Object> row) {
    List<Object> values = new ArrayList<>();
    columns.forEach(column -> values.add(row.get(table.ordinal(column))));
    return values;
  }

  private static Long aggregated(String function, List<List<Object>> rows, int column) {
    List<Long> values = new ArrayList<>();
    for (List<Object> row : rows) {
      if (row.get(column) != null) {
        values.add((Long) row.get(column));
      }
    }
    if (function.equals("count")) {
      return (long) values.size();
    }
    LongBinaryOperator operator =
        switch (function) {
          case "sum" -> Long::sum;
          case "min" -> Math::min;
          default -> Math::max;
        };
    var result = values.stream().mapToLong(Long::longValue).reduce(operator);
    return result.isPresent() ? result.getAsLong() : null;
  }

  private static Comparator<List<Object>> orderOf(Tree embed) {
    Comparator<List<Object>> byKey =
        (one, other) -> {
          int result = 0;
          for (int i = 0; i < embed.table().keyColumns() && result == 0; i++) {
            result = compare(one.get(i), other.get(i));
          }
          return result;
        };
    if (embed.order() == null) {
      return byKey;
    }
    int column = embed.table().ordinal(embed.order());
    Comparator<List<Object>> byColumn =
        (one, other) -> compare(one.get(column), other.get(column));
    return (embed.descending() ? byColumn.reversed() : byColumn).thenComparing(byKey);
  }

  private static int compare(Object one, Object other) {
    if (one == null || other == null) {
      return one == other ? 0 : one == null ? -1 : 1;
    }
    return one instanceof Long number
        ? number.compareTo((Long) other)
        : one.toString().compareTo(other.toString());
  }

  private static String field(String name, Object value) {
    return "\"" + name + "\":" + (value instanceof String text ? "\"" + text + "\"" : value);
  }
}
