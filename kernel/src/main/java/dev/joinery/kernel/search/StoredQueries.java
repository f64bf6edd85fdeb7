package dev.joinery.kernel.search;

import dev.joinery.kernel.bytes.Slice;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;

/**
 * The queries of one search, as all tasks of a worker share them: remembers the last sets of them,
 * by a fingerprint of what is in them.
 *
 * <p>All buckets have the same queries after a batch, so the first that is worked on makes the set
 * and the others find it. One that is not known, as after a start, is read from a bucket's state.
 */
public final class StoredQueries {
  /** A row of the queries, not read yet. */
  public record Source(Slice key, Slice row, Slice on, String text) {}

  /**
   * The last sets that a task has seen: in real time tasks are apart by more changes than all
   * remember together.
   */
  public static final class Recent {
    private static final int REMEMBERED = 4;

    private final Map<Long, QuerySet> sets =
        new LinkedHashMap<>(8, 0.75f, true) {
          private static final long serialVersionUID = 1L;

          @Override
          protected boolean removeEldestEntry(Map.Entry<Long, QuerySet> eldest) {
            return size() > REMEMBERED;
          }
        };
  }

  private record Between(long before, long after) {}

  /** The last sets of what changed. */
  private final Map<Between, QuerySet> changes =
      new LinkedHashMap<>(8, 0.75f, true) {
        private static final long serialVersionUID = 1L;

        @Override
        protected boolean removeEldestEntry(Map.Entry<Between, QuerySet> eldest) {
          return size() > Recent.REMEMBERED;
        }
      };

  /** How many texts are remembered as they were read. */
  private static final int TEXTS = 4096;

  private final Language language;
  private final Recent shared = new Recent();

  /** In real time buckets come to a query in sets of different queries each. */
  private final Map<String, Language.Read> lastRead =
      new LinkedHashMap<>(64, 0.75f, true) {
        private static final long serialVersionUID = 1L;

        @Override
        protected boolean removeEldestEntry(Map.Entry<String, Language.Read> eldest) {
          return size() > TEXTS;
        }
      };

  public StoredQueries(Language language) {
    this.language = language;
    shared.sets.put(0L, of(Map.of()));
  }

  /**
   * A set of those queries alone that changed between two sets, by the fingerprints of these. Buckets
   * that were told the same changes together share it.
   */
  public synchronized QuerySet changed(long before, long after, Map<Slice, StoredQuery> queries) {
    return changes.computeIfAbsent(new Between(before, after), each -> of(queries));
  }

  /** A set of some queries alone. */
  QuerySet of(Map<Slice, StoredQuery> queries) {
    return QuerySet.of(language, queries);
  }

  /**
   * The set after a batch.
   *
   * @param before the fingerprint of the set before it, {@code after} that of this one
   * @param changes by key; null for a query that went
   * @param all the queries after the batch, asked for only where the set before is not known
   * @param seen what the task has seen
   */
  public synchronized QuerySet after(
      long before,
      long after,
      Map<Slice, Source> changes,
      Supplier<Iterator<Source>> all,
      Recent seen) {
    QuerySet known = known(after, seen);
    if (known == null) {
      QuerySet last = known(before, seen);
      known = last == null ? of(readAll(all.get())) : last.with(read(changes));
      shared.sets.put(after, known);
    }
    seen.sets.put(after, known);
    return known;
  }

  private QuerySet known(long print, Recent seen) {
    QuerySet found = shared.sets.get(print);
    return found == null ? seen.sets.get(print) : found;
  }

  private Map<Slice, StoredQuery> readAll(Iterator<Source> sources) {
    Map<Slice, Source> all = new LinkedHashMap<>();
    sources.forEachRemaining(each -> all.put(each.key(), each));
    return read(all);
  }

  /** Reads queries; one that went stays null. */
  public synchronized Map<Slice, StoredQuery> read(Map<Slice, Source> sources) {
    Set<String> texts = new LinkedHashSet<>();
    for (Source each : sources.values()) {
      if (each != null && each.text() != null) {
        texts.add(each.text());
      }
    }
    Map<String, Language.Read> read = readTexts(texts);
    Map<Slice, StoredQuery> queries = new HashMap<>();
    sources.forEach((key, source) -> queries.put(key, source == null ? null : query(source, read)));
    return queries;
  }

  private Map<String, Language.Read> readTexts(Set<String> texts) {
    Map<String, Language.Read> found = new HashMap<>();
    List<String> unknown = new ArrayList<>();
    for (String text : texts) {
      Language.Read known = lastRead.get(text);
      if (known == null) {
        unknown.add(text);
      } else {
        found.put(text, known);
      }
    }
    Iterator<Language.Read> read = language.read(unknown).iterator();
    unknown.forEach(text -> found.put(text, read.next()));
    unknown.forEach(text -> lastRead.put(text, found.get(text)));
    return found;
  }

  private static StoredQuery query(Source source, Map<String, Language.Read> read) {
    Language.Read found =
        source.text() == null ? new Language.Read(null, null) : read.get(source.text());
    return new StoredQuery(
        source.key(), source.row(), source.on(), found.condition(), found.broken());
  }
}
