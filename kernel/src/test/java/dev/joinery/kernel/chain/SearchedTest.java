package dev.joinery.kernel.chain;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.joinery.kernel.message.Message;
import dev.joinery.kernel.program.Program;
import dev.joinery.kernel.program.ProgramReader;
import dev.joinery.kernel.spark.LocalSpark;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.function.Predicate;
import org.junit.jupiter.api.Test;

/**
 * Rows that are searched and nothing else, whose cells a Search keeps, against a plain search of
 * those that stand. The program is the planner's, of {@code searched.yaml} beside it.
 */
class SearchedTest {
  private static final int SEEDS = Seeds.of(40);
  private static final long START = 1_700_000_000_000_000L;
  private static final long SECOND = 1_000_000;
  private static final long RETENTION = 60 * SECOND;
  private static final int KEYS = 9;
  private static final Table LISTING =
      Table.of("listing", 1, "id BIGINT, city BIGINT, price BIGINT");
  private static final Table SAVED = Table.of("saved", 1, "id BIGINT, condition STRING");

  private record Query(String text, Predicate<List<Object>> holds) {}

  private static final List<Query> QUERIES =
      List.of(
          new Query("city = 1", row -> is(row, 1, 1)),
          new Query("city in (2, 3)", row -> is(row, 1, 2) || is(row, 1, 3)),
          new Query("price < 4", row -> row.get(2) != null && (Long) row.get(2) < 4),
          new Query("city = 1 or price = 5", row -> is(row, 1, 1) || is(row, 2, 5)),
          new Query("city is null", row -> row.get(1) == null));

  private final Chain chain = new Chain(program(), LocalSpark.SESSION);

  private static boolean is(List<Object> row, int column, long value) {
    return row.get(column) != null && (Long) row.get(column) == value;
  }

  private static Program program() {
    try (InputStream file = SearchedTest.class.getResourceAsStream("/searched.json")) {
      Program read =
          ProgramReader.read(new String(file.readAllBytes(), StandardCharsets.UTF_8));
      return new Program(
          read.levels(),
          read.relations(),
          read.nodes(),
          read.assemblers(),
          read.products(),
          read.routes(),
          read.entries(),
          RETENTION,
          read.maxDocumentBytes(),
          read.reads(),
          read.buckets());
    } catch (IOException error) {
      throw new IllegalStateException(error);
    }
  }

  private static History history(Random random) {
    return new History(List.of(Tree.root("l", LISTING)), random, KEYS);
  }

  private static LogChange saved(int id, boolean stands, long place) {
    List<Object> row = new ArrayList<>();
    row.add((long) id);
    if (stands) {
      row.add(QUERIES.get(id).text());
    }
    return new LogChange(SAVED, stands ? Message.OP_UPSERT : Message.OP_DELETE, row, place, place);
  }

  @Test
  void eachBatchSendsExactlyTheMatchesItChanged() {
    for (int seed = 0; seed < SEEDS; seed++) {
      Random random = new Random(seed);
      History history = history(random);
      Network network = new Network(chain);
      Map<Object, LogChange> newest = new HashMap<>();
      boolean[] stands = new boolean[QUERIES.size()];
      Map<String, String> before = new TreeMap<>();
      for (int batch = 0; batch < 12; batch++) {
        List<LogChange> changes = new ArrayList<>(history.next(random.nextInt(14)));
        apply(changes, newest);
        int turned = random.nextInt(QUERIES.size());
        if (batch == 0 || random.nextInt(3) == 0) {
          stands[turned] = !stands[turned];
          changes.add(saved(turned, stands[turned], batch + 1));
        }
        Map<String, String> after = matches(newest, stands);

        List<Emission> emissions = network.batch(changes, START + batch, random);

        assertEquals(
            Documents.difference(before, after),
            Documents.sent(emissions),
            "seed " + seed + ", batch " + batch);
        before = after;
      }
    }
  }

  @Test
  void aDeleteIsRememberedForAsLongAsItMayBeOvertakenAndThenForgotten() {
    Random random = new Random(1);
    Network network = new Network(chain);
    network.batch(List.of(saved(0, true, 1)), START, random);
    long bare = network.stateBytes();
    for (long id = 0; id < 500; id++) {
      network.batch(List.of(listing(Message.OP_UPSERT, id, 10)), START + 1, random);
      network.batch(List.of(listing(Message.OP_DELETE, id, 20)), START + SECOND, random);
    }
    assertTrue(network.stateBytes() > bare, "deletes are remembered");

    List<Emission> late =
        network.batch(List.of(listing(Message.OP_UPSERT, 7, 15)), START + 2 * SECOND, random);
    assertEquals(List.of(), late);

    network.expireAll(START + 4 * SECOND + RETENTION + RETENTION / 32);
    network.expireAll(START + 8 * SECOND + RETENTION + RETENTION / 16);

    assertEquals(bare, network.stateBytes());
    assertTrue(network.noteBytes() <= 8L * network.levels(), "notes are left");
  }

  private static LogChange listing(int op, long id, long place) {
    List<Object> row = op == Message.OP_UPSERT ? List.of(id, 1L, id) : List.of(id);
    return new LogChange(LISTING, op, row, place, place);
  }

  private static void apply(List<LogChange> changes, Map<Object, LogChange> newest) {
    for (LogChange change : changes) {
      newest.merge(
          change.key().get(0),
          change,
          (known, one) -> one.position() >= known.position() ? one : known);
    }
  }

  private static Map<String, String> matches(Map<Object, LogChange> newest, boolean[] stands) {
    Map<String, String> found = new TreeMap<>();
    for (LogChange each : newest.values()) {
      for (int query = 0; query < stands.length; query++) {
        List<Object> row = each.row();
        if (each.isUpsert() && stands[query] && QUERIES.get(query).holds().test(row)) {
          String key =
              "\"query\":{\"id\":%d},\"document\":{\"id\":%d}".formatted(query, (Long) row.get(0));
          found.put("{" + key + "}", "{" + key + ",\"price\":" + row.get(2) + "}");
        }
      }
    }
    return found;
  }
}
