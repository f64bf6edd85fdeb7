package dev.joinery.kernel.search;

import dev.joinery.kernel.bytes.Slice;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import org.apache.spark.sql.catalyst.InternalRow;

/**
 * All queries at one moment. Nothing changes it: a next one shares what is large with the one
 * before, so a batch that changes few queries indexes few anew.
 */
public final class QuerySet {
  /** So many changes, or this share of the queries, are indexed beside the others. */
  private static final int FEW = 512;

  private static final int SHARE = 8;

  private final Language language;
  private final Map<Slice, StoredQuery> base;
  private final Language.Index baseIndex;

  /** Those that came or changed since, and the keys of those and of what went. */
  private final Map<Slice, StoredQuery> later;

  private final Set<Slice> replaced;
  private final Language.Index laterIndex;

  private QuerySet(
      Language language,
      Map<Slice, StoredQuery> base,
      Language.Index baseIndex,
      Map<Slice, StoredQuery> later,
      Set<Slice> replaced) {
    this.language = language;
    this.base = base;
    this.baseIndex = baseIndex;
    this.later = later;
    this.replaced = replaced;
    this.laterIndex = language.index(later.values());
  }

  public static QuerySet of(Language language, Map<Slice, StoredQuery> queries) {
    Language.Index index = language.index(queries.values());
    return new QuerySet(language, queries, index, Map.of(), Set.of());
  }

  /** The set after changes; null stands for a query that went. */
  QuerySet with(Map<Slice, StoredQuery> changes) {
    Set<Slice> touched = new HashSet<>(replaced);
    touched.addAll(changes.keySet());
    if (touched.size() > Math.max(FEW, base.size() / SHARE)) {
      Map<Slice, StoredQuery> all = new HashMap<>(base);
      all.keySet().removeAll(replaced);
      all.putAll(later);
      put(changes, all);
      return of(language, all);
    }
    Map<Slice, StoredQuery> newer = new HashMap<>(later);
    put(changes, newer);
    return new QuerySet(language, base, baseIndex, newer, touched);
  }

  private static void put(Map<Slice, StoredQuery> changes, Map<Slice, StoredQuery> into) {
    changes.forEach(
        (key, query) -> {
          if (query == null) {
            into.remove(key);
          } else {
            into.put(key, query);
          }
        });
  }

  /** The query under a key; null where there is none. */
  public StoredQuery get(Slice key) {
    return replaced.contains(key) ? later.get(key) : base.get(key);
  }

  /**
   * Gives the queries that are true of a row, each once.
   *
   * @param fails takes those that could not be evaluated
   */
  public void matching(
      Slice on, InternalRow row, Consumer<StoredQuery> matches, Consumer<StoredQuery> fails) {
    BiConsumer<StoredQuery, Condition.Verdict> tell =
        (query, verdict) -> tell(query, verdict, matches, fails);
    baseIndex.find(on, row, query -> !replaced.contains(query.key()), tell);
    if (!later.isEmpty()) {
      laterIndex.find(on, row, query -> true, tell);
    }
  }

  private static void tell(
      StoredQuery query,
      Condition.Verdict verdict,
      Consumer<StoredQuery> matches,
      Consumer<StoredQuery> fails) {
    switch (verdict) {
      case HOLDS -> matches.accept(query);
      case FAILS -> fails.accept(query);
      case DOES_NOT -> {}
    }
  }
}
