package dev.joinery.kernel.search;

import dev.joinery.kernel.bytes.Slice;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.apache.spark.sql.catalyst.InternalRow;

/**
 * Stored text queries by a word, or the beginning of one, that a row must have: of those that a query
 * needs all, the one that fewest others need; of those of which it needs one, each. Queries without
 * such a word are tried on all rows.
 *
 * <p>Invariant: what it leaves out cannot hold of the row.
 */
final class TextIndex implements Language.Index {
  /** The beginning of a word counts as a word that so many queries share. */
  private static final int BEGINNINGS = 16;

  /** What a row must have: a word or, of {@code prefix}, the beginning of one, in any column. */
  private record Anchor(String text, boolean prefix) {}

  /** Queries of one {@code on}. */
  private static final class Shelf {
    private final Map<String, List<StoredQuery>> words = new HashMap<>();
    private final Map<String, List<StoredQuery>> prefixes = new HashMap<>();
    private final Set<Integer> lengths = new TreeSet<>();
    private final List<StoredQuery> others = new ArrayList<>();
  }

  private final TextColumns columns;
  private final Map<String, Integer> uses = new HashMap<>();
  private final Map<Slice, Shelf> shelves = new HashMap<>();

  TextIndex(TextColumns columns, Collection<StoredQuery> queries) {
    this.columns = columns;
    queries.forEach(each -> textOf(each, query -> count(query)));
    queries.forEach(each -> textOf(each, query -> put(each, query)));
  }

  private static void textOf(StoredQuery query, Consumer<TextQuery> take) {
    if (query.canMatch() && query.condition() instanceof TextCondition condition) {
      take.accept(condition.query());
    }
  }

  private void count(TextQuery query) {
    if (query instanceof TextQuery.Phrase phrase) {
      phrase.words().forEach(each -> uses.merge(each, 1, Integer::sum));
    } else if (query instanceof TextQuery.Clauses clauses) {
      clauses.must().forEach(this::count);
      clauses.should().forEach(this::count);
    }
  }

  private void put(StoredQuery stored, TextQuery query) {
    Shelf shelf = shelves.computeIfAbsent(stored.on(), each -> new Shelf());
    Set<Anchor> anchors = anchors(query);
    if (anchors == null) {
      shelf.others.add(stored);
      return;
    }
    for (Anchor each : anchors) {
      Map<String, List<StoredQuery>> places = each.prefix() ? shelf.prefixes : shelf.words;
      places.computeIfAbsent(each.text(), text -> new ArrayList<>(1)).add(stored);
      if (each.prefix()) {
        shelf.lengths.add(each.text().length());
      }
    }
  }

  /** Of these a row must have one; null where the query names none. */
  private Set<Anchor> anchors(TextQuery query) {
    if (query instanceof TextQuery.Phrase phrase) {
      return Set.of(new Anchor(rarest(phrase.words()), false));
    }
    if (query instanceof TextQuery.Pattern pattern) {
      return Set.of(new Anchor(pattern.prefix(), true));
    }
    if (!(query instanceof TextQuery.Clauses clauses)) {
      return null;
    }
    return clauses.must().isEmpty() ? any(clauses.should()) : best(clauses.must());
  }

  private String rarest(List<String> words) {
    String best = words.get(0);
    for (String each : words) {
      int fewer = Integer.compare(uses.get(each), uses.get(best));
      if (fewer < 0 || (fewer == 0 && each.length() > best.length())) {
        best = each;
      }
    }
    return best;
  }

  private Set<Anchor> any(List<TextQuery> queries) {
    Set<Anchor> all = new HashSet<>();
    for (TextQuery each : queries) {
      Set<Anchor> found = anchors(each);
      if (found == null) {
        return null;
      }
      all.addAll(found);
    }
    return all;
  }

  private Set<Anchor> best(List<TextQuery> queries) {
    Set<Anchor> best = null;
    for (TextQuery each : queries) {
      Set<Anchor> found = anchors(each);
      if (found != null && (best == null || cost(found) < cost(best))) {
        best = found;
      }
    }
    return best;
  }

  private int cost(Set<Anchor> anchors) {
    int cost = 0;
    for (Anchor each : anchors) {
      cost += each.prefix() ? BEGINNINGS : uses.get(each.text());
    }
    return cost;
  }

  @Override
  public void find(
      Slice on,
      InternalRow row,
      Predicate<StoredQuery> wanted,
      BiConsumer<StoredQuery, Condition.Verdict> found) {
    Shelf shelf = shelves.get(on);
    if (shelf == null) {
      return;
    }
    TextRow asked = new TextRow(columns, row);
    Set<StoredQuery> tried = Collections.newSetFromMap(new IdentityHashMap<>());
    Consumer<List<StoredQuery>> trying =
        queries -> {
          for (StoredQuery each : queries) {
            if (tried.add(each) && wanted.test(each)) {
              found.accept(each, ((TextCondition) each.condition()).of(asked));
            }
          }
        };
    trying.accept(shelf.others);
    Set<String> words = new HashSet<>();
    for (int i = 0; i < asked.columns(); i++) {
      words.addAll(asked.of(i).all());
    }
    words.forEach(each -> withWord(shelf, each, trying));
  }

  private static void withWord(Shelf shelf, String word, Consumer<List<StoredQuery>> trying) {
    trying.accept(shelf.words.getOrDefault(word, List.of()));
    for (int length : shelf.lengths) {
      if (length > word.length()) {
        return;
      }
      trying.accept(shelf.prefixes.getOrDefault(word.substring(0, length), List.of()));
    }
  }
}
