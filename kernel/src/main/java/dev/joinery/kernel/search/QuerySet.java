package dev.joinery.kernel.search;

import dev.joinery.kernel.bytes.Slice;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
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

  private final Map<Slice, StoredQuery> base;
  private final QueryIndex baseIndex;

  /** Those that came or changed since, and the keys of those and of what went. */
  private final Map<Slice, StoredQuery> later;

  private final Set<Slice> replaced;
  private final QueryIndex laterIndex;

  private QuerySet(
      Map<Slice, StoredQuery> base,
      QueryIndex baseIndex,
      Map<Slice, StoredQuery> later,
      Set<Slice> replaced) {
    this.base = base;
    this.baseIndex = baseIndex;
    this.later = later;
    this.replaced = replaced;
    this.laterIndex = new QueryIndex(later.values());
  }

  public static QuerySet of(Map<Slice, StoredQuery> queries) {
    QueryIndex index = new QueryIndex(queries.values());
    return new QuerySet(queries, index, Map.of(), Set.of());
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
      return of(all);
    }
    Map<Slice, StoredQuery> newer = new HashMap<>(later);
    put(changes, newer);
    return new QuerySet(base, baseIndex, newer, touched);
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
    QueryIndex.Found tried = (query, holds) -> tell(query, holds, row, matches, fails);
    baseIndex.candidates(
        on,
        row,
        (query, holds) -> {
          if (!replaced.contains(query.key())) {
            tried.take(query, holds);
          }
        });
    laterIndex.candidates(on, row, tried);
  }

  private static void tell(
      StoredQuery query,
      boolean holds,
      InternalRow row,
      Consumer<StoredQuery> matches,
      Consumer<StoredQuery> fails) {
    Condition.Verdict verdict = holds ? Condition.Verdict.HOLDS : query.condition().of(row);
    switch (verdict) {
      case HOLDS -> matches.accept(query);
      case FAILS -> fails.accept(query);
      case DOES_NOT -> {}
    }
  }
}
