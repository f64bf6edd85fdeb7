package dev.joinery.kernel.chain;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.joinery.kernel.program.Program;
import dev.joinery.kernel.program.ProgramReader;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/**
 * Timelines against a plain search of the rows that stand, in batches and with single messages that
 * overtake each other. The program is the planner's, of {@code timeline.yaml} beside it.
 */
class ThroughTest {
  private static final int SEEDS = Seeds.of(60);
  private static final long START = 1_700_000_000_000_000L;
  private static final int KEYS = 9;
  private static final int LIMIT = 2;
  private static final int HOT_ABOVE = 2;
  private static final Table USER = Table.of("user", 1, "id BIGINT");
  private static final Table FOLLOW = Table.of("follow", 1, "id BIGINT, who BIGINT, whom BIGINT");
  private static final Table POST = Table.of("post", 1, "id BIGINT, author BIGINT, at BIGINT");

  private final Chain chain = new Chain(program());

  private static Program program() {
    try (InputStream file = ThroughTest.class.getResourceAsStream("/timeline.json")) {
      return ProgramReader.read(new String(file.readAllBytes(), StandardCharsets.UTF_8));
    } catch (IOException error) {
      throw new IllegalStateException(error);
    }
  }

  private static History history(Random random) {
    List<Tree> tables =
        List.of(Tree.root("u", USER), Tree.root("f", FOLLOW), Tree.root("p", POST));
    return new History(tables, random, KEYS);
  }

  @Test
  void eachBatchSendsExactlyTheTimelinesItChanged() {
    for (int seed = 0; seed < SEEDS; seed++) {
      Random random = new Random(seed);
      History history = history(random);
      Network network = new Network(chain);
      Standing standing = new Standing();
      Map<String, String> before = new TreeMap<>();
      for (int batch = 0; batch < 12; batch++) {
        List<LogChange> changes = history.next(1 + random.nextInt(14));
        standing.apply(changes);
        Map<String, String> after = standing.timelines();

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
  void singleMessagesThatOvertakeEachOtherEndInTheSameTimelines() {
    for (int seed = 0; seed < SEEDS; seed++) {
      Random random = new Random(seed);
      Network network = new Network(chain);
      Standing standing = new Standing();
      List<LogChange> changes = history(random).next(150);
      standing.apply(changes);
      int next = 0;
      while (next < changes.size() || network.isBusy()) {
        if (next < changes.size() && (!network.isBusy() || random.nextInt(6) == 0)) {
          network.send(changes.get(next), START + next);
          next++;
        } else {
          network.deliver(random);
        }
      }
      Map<String, String> held = new TreeMap<>();
      Map<String, Long> versions = new HashMap<>();
      for (Emission each : network.drain()) {
        Long known = versions.put(each.key(), each.version());
        assertTrue(known == null || known < each.version(), "a version fell");
        held.put(each.key(), each.value());
      }
      held.values().removeIf(Objects::isNull);

      assertEquals(standing.timelines(), held, "seed " + seed);
    }
  }

  /** The rows that stand, and the timelines that they are. */
  private static final class Standing {
    private final Map<String, Map<Long, LogChange>> newest = new HashMap<>();

    void apply(List<LogChange> changes) {
      for (LogChange change : changes) {
        newest
            .computeIfAbsent(change.table().name(), each -> new HashMap<>())
            .merge(
                (Long) change.key().get(0),
                change,
                (known, one) -> one.position() >= known.position() ? one : known);
      }
    }

    private List<List<Object>> rows(Table table) {
      return newest.getOrDefault(table.name(), Map.of()).values().stream()
          .filter(LogChange::isUpsert)
          .map(LogChange::row)
          .toList();
    }

    Map<String, String> timelines() {
      Map<Object, Long> led =
          rows(FOLLOW).stream()
              .filter(each -> each.get(2) != null)
              .collect(Collectors.groupingBy(each -> each.get(2), Collectors.counting()));
      Map<String, String> timelines = new TreeMap<>();
      for (List<Object> user : rows(USER)) {
        timelines.put("{\"id\":" + user.get(0) + "}", timeline(user.get(0), led));
      }
      return timelines;
    }

    private String timeline(Object user, Map<Object, Long> led) {
      Collection<Object> named = new HashSet<>();
      TreeSet<Long> hot = new TreeSet<>();
      for (List<Object> follow : rows(FOLLOW)) {
        Object whom = follow.get(2);
        if (whom != null && user.equals(follow.get(1))) {
          if (led.get(whom) > HOT_ABOVE) {
            hot.add((Long) whom);
          } else {
            named.add(whom);
          }
        }
      }
      List<List<Object>> posts =
          rows(POST).stream()
              .filter(each -> each.get(1) != null && named.contains(each.get(1)))
              .sorted(
                  Comparator.comparing(
                          (List<Object> each) -> (Long) each.get(2),
                          Comparator.nullsLast(Comparator.reverseOrder()))
                      .thenComparing(each -> (Long) each.get(0)))
              .toList();
      String shown =
          posts.stream()
              .limit(LIMIT)
              .map(each -> "{\"id\":" + each.get(0) + ",\"at\":" + each.get(2) + "}")
              .collect(Collectors.joining(","));
      String left = hot.stream().map(String::valueOf).collect(Collectors.joining(","));
      return "{\"posts\":[%s],\"posts_total\":%d,\"posts_hot\":[%s]}"
          .formatted(shown, posts.size(), left);
    }
  }
}
