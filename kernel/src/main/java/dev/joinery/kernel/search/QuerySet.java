package dev.joinery.kernel.search;

import dev.joinery.kernel.bytes.Slice;
import java.util.Collections;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import org.apache.spark.sql.catalyst.InternalRow;

/**
 * All queries at one moment. Nothing changes it: a next one shares what is large with the one
 * before, so a batch that changes few queries indexes few again. In real time each query is a batch
 * of its own, so those that came last are apart from those that came before them.
 */
public final class QuerySet {
  /** The most changes, or this share of the queries, that are indexed beside the others. */
  private static final int FEW = 512;

  private static final int SHARE = 8;

  /** How many of them are indexed again with every change. */
  private static final int LATEST = 32;

  private final Language language;
  private final Map<Slice, StoredQuery> base;
  private final Language.Index baseIndex;
  private final Changes later;
  private final Changes latest;

  /** Queries that are indexed and stand no more as they are there; hardly any, as most only come. */
  private final Set<StoredQuery> goneFromBase = identities();

  private final Set<StoredQuery> goneFromLater = identities();

  private QuerySet(
      Language language,
      Map<Slice, StoredQuery> base,
      Language.Index baseIndex,
      Changes later,
      Changes latest) {
    this.language = language;
    this.base = base;
    this.baseIndex = baseIndex;
    this.later = later;
    this.latest = latest;
    noteGone(later, base, goneFromBase);
    noteGone(latest, base, goneFromBase);
    noteGone(latest, later.byKey, goneFromLater);
  }

  private static Set<StoredQuery> identities() {
    return Collections.newSetFromMap(new IdentityHashMap<>());
  }

  private static boolean isNotIn(Set<StoredQuery> gone, StoredQuery query) {
    return gone.isEmpty() || !gone.contains(query);
  }

  private static void noteGone(
      Changes changes, Map<Slice, StoredQuery> from, Set<StoredQuery> gone) {
    for (Slice key : changes.byKey.keySet()) {
      StoredQuery query = from.get(key);
      if (query != null) {
        gone.add(query);
      }
    }
  }

  public static QuerySet of(Language language, Map<Slice, StoredQuery> queries) {
    Changes none = new Changes(language, Map.of());
    return new QuerySet(language, queries, language.index(queries.values()), none, none);
  }

  /** Queries that came, changed or went since others were indexed: null stands for one that went. */
  private static final class Changes {
    private final Map<Slice, StoredQuery> byKey;
    private final Language.Index index;

    Changes(Language language, Map<Slice, StoredQuery> byKey) {
      this.byKey = byKey;
      this.index = language.index(byKey.values().stream().filter(Objects::nonNull).toList());
    }

    Map<Slice, StoredQuery> and(Map<Slice, StoredQuery> newer) {
      Map<Slice, StoredQuery> both = new HashMap<>(byKey);
      both.putAll(newer);
      return both;
    }

    boolean has(Slice key) {
      return byKey.containsKey(key);
    }
  }

  /** The set after changes; null stands for a query that went. */
  QuerySet with(Map<Slice, StoredQuery> changes) {
    Map<Slice, StoredQuery> last = latest.and(changes);
    if (last.size() <= LATEST) {
      return new QuerySet(language, base, baseIndex, later, new Changes(language, last));
    }
    Map<Slice, StoredQuery> since = later.and(last);
    if (since.size() <= Math.max(FEW, base.size() / SHARE)) {
      Changes none = new Changes(language, Map.of());
      return new QuerySet(language, base, baseIndex, new Changes(language, since), none);
    }
    Map<Slice, StoredQuery> all = new HashMap<>(base);
    all.putAll(since);
    all.values().removeIf(Objects::isNull);
    return of(language, all);
  }

  /** The query under a key; null where there is none. */
  public StoredQuery get(Slice key) {
    if (latest.has(key)) {
      return latest.byKey.get(key);
    }
    return later.has(key) ? later.byKey.get(key) : base.get(key);
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
    baseIndex.find(on, row, each -> isNotIn(goneFromBase, each), tell);
    if (!later.byKey.isEmpty()) {
      later.index.find(on, row, each -> isNotIn(goneFromLater, each), tell);
    }
    if (!latest.byKey.isEmpty()) {
      latest.index.find(on, row, each -> true, tell);
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
