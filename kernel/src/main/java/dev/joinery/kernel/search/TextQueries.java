package dev.joinery.kernel.search;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.apache.spark.sql.types.StructType;

/**
 * Stored queries in Lucene's syntax. What they ask of columns that are not text is read as
 * conditions in SQL are, all of a batch together.
 */
public final class TextQueries implements Language {
  private final TextColumns columns;
  private final Conditions conditions;
  private final int mostCharacters;

  /**
   * @param row what queries see, and {@code conditions} over the same
   */
  public TextQueries(StructType row, Conditions conditions, int mostCharacters) {
    this.columns = new TextColumns(row);
    this.conditions = conditions;
    this.mostCharacters = mostCharacters;
  }

  @Override
  public List<Read> read(List<String> texts) {
    Map<String, Read> asked = new LinkedHashMap<>();
    List<TextQuery> queries = new ArrayList<>();
    List<String> broken = new ArrayList<>();
    for (String text : texts) {
      try {
        queries.add(new TextParser(columns, sql -> asked.put(sql, null)).read(text, mostCharacters));
        broken.add(null);
      } catch (BrokenException failure) {
        queries.add(null);
        broken.add(failure.getMessage());
      }
    }
    Iterator<Read> conditionsRead = conditions.read(new ArrayList<>(asked.keySet())).iterator();
    asked.replaceAll((sql, none) -> conditionsRead.next());
    List<Read> read = new ArrayList<>();
    for (int i = 0; i < texts.size(); i++) {
      read.add(broken.get(i) == null ? whole(queries.get(i), asked) : failed(broken.get(i)));
    }
    return read;
  }

  private static Read failed(String broken) {
    return new Read(null, broken);
  }

  private Read whole(TextQuery query, Map<String, Read> asked) {
    try {
      return new Read(new TextCondition(columns, filled(query, asked)), null);
    } catch (BrokenException failure) {
      return failed(failure.getMessage());
    }
  }

  private static TextQuery filled(TextQuery query, Map<String, Read> asked)
      throws BrokenException {
    if (query instanceof TextQuery.Where where) {
      Read read = asked.get(where.sql());
      if (read.broken() != null) {
        throw new BrokenException(read.broken());
      }
      return new TextQuery.Where(where.sql(), Objects.requireNonNull(read.condition()));
    }
    if (query instanceof TextQuery.Clauses clauses) {
      return new TextQuery.Clauses(
          filled(clauses.must(), asked),
          filled(clauses.should(), asked),
          filled(clauses.mustNot(), asked));
    }
    return query;
  }

  private static List<TextQuery> filled(List<TextQuery> queries, Map<String, Read> asked)
      throws BrokenException {
    List<TextQuery> filled = new ArrayList<>();
    for (TextQuery each : queries) {
      filled.add(filled(each, asked));
    }
    return List.copyOf(filled);
  }

  @Override
  public Index index(Collection<StoredQuery> queries) {
    return new TextIndex(columns, queries);
  }
}
