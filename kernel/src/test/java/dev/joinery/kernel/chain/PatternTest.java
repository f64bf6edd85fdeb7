package dev.joinery.kernel.chain;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.TextNode;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.ingress.PendingRoots;
import dev.joinery.kernel.message.Message;
import dev.joinery.kernel.program.PatternProgram;
import dev.joinery.kernel.program.Program;
import dev.joinery.kernel.program.ProgramReader;
import dev.joinery.kernel.spark.LocalSpark;
import dev.joinery.kernel.state.MemoryState;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Matches that batches keep, against a search through all rows at once. The program is the planner's,
 * of {@code patterns.yaml} and {@code crowded.yaml} beside it.
 */
class PatternTest {
  private static final int SEEDS = Seeds.of(40);
  private static final long START = 1_700_000_000_000_000L;
  private static final long MINUTE = 60_000_000L;
  private static final Table TABLE =
      Table.of("e", 1, "id bigint, who bigint, a boolean, b boolean, at timestamp");

  private static final Table RULE = Table.of("rule", 1, "a boolean, wanted boolean");

  private final Chain chain = chainOf(program("patterns"));

  private static Chain chainOf(String program) {
    return new Chain(ProgramReader.read(program), LocalSpark.SESSION);
  }

  private static String program(String name) {
    try (InputStream file = PatternTest.class.getResourceAsStream("/" + name + ".json")) {
      return new String(file.readAllBytes(), StandardCharsets.UTF_8);
    } catch (IOException error) {
      throw new IllegalStateException(error);
    }
  }

  @Test
  void aBatchThatLooksAtSomeRowsFindsWhatASearchThroughAllFinds() {
    for (int seed = 0; seed < SEEDS; seed++) {
      runBatches(chain, seed, 14, 12, 60);
    }
  }

  /** A start that may need less than a thousand tests looks at the ends of all from the first. */
  @Test
  void soDoesOneThatKnowsWhereMatchesEnd() {
    Chain knowing = withMostTests(999);
    for (int seed = 0; seed < SEEDS; seed++) {
      runBatches(knowing, seed, 14, 12, 60);
    }
  }

  @Test
  void soDoesOneWithManyRowsOfAKey() {
    for (int seed = 0; seed < 3; seed++) {
      runBatches(chain, seed, 3_000, 4, 20_000);
    }
  }

  private void runBatches(Chain run, int seed, int keys, int batches, int minutes) {
    Random random = new Random(seed);
    Rows rows = new Rows(random, keys, minutes);
    Network network = new Network(run);
    Map<String, String> sink = new TreeMap<>();
    Map<String, Long> versions = new HashMap<>();
    for (int batch = 0; batch < batches; batch++) {
      int changes = keys > 100 && batch == 0 ? 2 * keys : 1 + random.nextInt(9);
      apply(network.batch(rows.next(changes), START + batch, random), versions, sink);

      assertEquals(found(rows), sink, "seed " + seed + ", batch " + batch);
    }
  }

  @Test
  void singleMessagesThatOvertakeEachOtherEndInTheSameMatches() {
    for (int seed = 0; seed < SEEDS; seed++) {
      Random random = new Random(seed);
      Rows rows = new Rows(random, 14, 60);
      Network network = new Network(chain);
      Map<String, String> sink = new TreeMap<>();
      interleave(network, rows.next(40), random);
      apply(network.drain(), new HashMap<>(), sink);

      assertEquals(found(rows), sink, "seed " + seed);
    }
  }

  @Test
  void aCrashBetweenTwoCommitsEndsInTheSameMatches() {
    for (int seed = 0; seed < SEEDS; seed++) {
      Random random = new Random(seed);
      Rows rows = new Rows(random, 14, 60);
      Network network = new Network(chain);
      Map<String, String> sink = new TreeMap<>();
      Map<String, Long> versions = new HashMap<>();
      apply(network.batch(rows.next(30), START, random), versions, sink);
      Map<Slice, MemoryState> checkpoint = network.checkpoint();
      List<LogChange> lost = rows.next(20);
      interleave(network, lost, random);
      List<Emission> uncommitted = network.drain();
      apply(uncommitted, versions, sink);
      network.restore(checkpoint);

      List<PendingRoots.Root> roots = network.roots(told(uncommitted, versions));
      int cut = random.nextInt(lost.size());
      again(network.batch(lost.subList(0, cut), roots, START + 1, random), versions, sink);
      again(network.batch(lost.subList(cut, lost.size()), START + 2, random), versions, sink);

      assertEquals(found(rows), sink, "seed " + seed);
    }
  }

  @Test
  void whatWasCommittedIsNotSentAgain() {
    Random random = new Random(5);
    Rows rows = new Rows(random, 14, 60);
    Network network = new Network(chain);
    Map<String, Long> versions = new HashMap<>();
    List<Emission> committed = network.batch(rows.next(60), START, random);
    apply(committed, versions, new TreeMap<>());
    assertTrue(committed.size() > 10, "there are matches");

    List<PendingRoots.Root> roots = network.roots(told(committed, versions));

    assertEquals(List.of(), network.batch(List.of(), roots, START + 1, random));
  }

  /** Sends changes while single messages are delivered. */
  private static void interleave(Network network, List<LogChange> changes, Random random) {
    int next = 0;
    while (next < changes.size() || network.isBusy()) {
      if (next < changes.size() && (!network.isBusy() || random.nextInt(6) == 0)) {
        network.send(changes.get(next), START + 1_000 + next);
        next++;
      } else {
        network.deliver(random);
      }
    }
  }

  private static Stream<String> told(List<Emission> sent, Map<String, Long> versions) {
    return sent.stream()
        .map(each -> List.of(each.product(), each.key()))
        .distinct()
        .map(
            each ->
                String.format(
                    "{\"product\":\"%s\",\"key\":%s,\"version\":%d}",
                    each.get(0),
                    TextNode.valueOf(each.get(1)),
                    versions.get(each.get(0) + " " + each.get(1))));
  }

  @Test
  void aMatchOfAHundredThousandRowsIsFound() {
    int most = 100_000;
    Map<String, String> sink = new TreeMap<>();
    List<LogChange> changes = new ArrayList<>();
    for (int i = 0; i <= most; i++) {
      changes.add(change(row(i, i == 0, i > 0, START + i * 1_000L), i));
    }

    Network network = new Network(chainOf(program("crowded")));
    apply(network.batch(changes, START, new Random(1)), new HashMap<>(), sink);

    String match = sink.get("near {\"who\":1,\"start\":{\"id\":0}}");
    assertTrue(match.contains("\"n\":" + most));
  }

  /** Each of fifty thousand rows may begin a match, and could be followed to the last. */
  @Test
  @Timeout(60)
  void rowsThatAllMayBeginAMatchAreNotGoneThroughForEach() {
    int most = 50_000;
    Network network = new Network(chainOf(program("crowded")));
    List<LogChange> changes = new ArrayList<>();
    for (int i = 0; i < most; i++) {
      changes.add(change(row(i, true, false, START + i * 1_000L), i));
    }
    Map<String, String> sink = new TreeMap<>();
    apply(network.batch(changes, START, new Random(1)), new HashMap<>(), sink);

    assertTrue(sink.keySet().stream().noneMatch(each -> each.startsWith("runs ")));
  }

  @Test
  void aStartIsGivenUpOnceItSeesSoManyRowsThatAllTogetherWouldNeedTooManyTests() {
    Network network = new Network(withMostTests(50));
    Map<String, String> sink = new TreeMap<>();
    Map<String, Long> versions = new HashMap<>();
    List<LogChange> changes = new ArrayList<>();
    for (int i = 0; i < 1_000; i++) {
      changes.add(change(row(i, i < 30, i == 30, START + i * 1_000L), i));
    }
    String key = "thirty {\"who\":1,\"start\":{\"id\":0}}";
    apply(network.batch(changes, START, new Random(1)), versions, sink);
    assertTrue(sink.get(key).contains("\"last\":30"), "31 of 50 tests");

    changes.clear();
    for (int i = 1_000; i < 2_000; i++) {
      changes.add(change(row(i, false, false, START + i * 1_000L), i));
    }
    apply(network.batch(changes, START + 1, new Random(1)), versions, sink);

    assertEquals(null, sink.get(key), "31 of 25 tests");
  }

  /** The starts that a search gives up are those of the reference, which wrote the sample. */
  @Test
  void theReferenceGivesUpTheSameStarts() {
    JsonNode sample = tree("given_up");
    Network network = new Network(withMostTests(sample.get("most_tests").asInt()));
    Set<String> names = Set.of("follows", "thirty", "ordered", "mixed", "either");
    Map<String, String> sink = new TreeMap<>();
    Map<String, Long> versions = new HashMap<>();
    for (int batch = 0; batch < sample.get("batches").size(); batch++) {
      List<LogChange> changes = new ArrayList<>();
      for (JsonNode each : sample.get("batches").get(batch)) {
        changes.add(told(each, 1_000_000L * batch + changes.size()));
      }
      apply(network.batch(changes, START + batch, new Random(batch)), versions, sink);

      Map<String, String> found = new TreeMap<>(sink);
      found.keySet().removeIf(each -> !names.contains(each.substring(0, each.indexOf(' '))));
      Map<String, String> expected = new TreeMap<>();
      sample.get("matches").get(batch).properties()
          .forEach(each -> expected.put(each.getKey(), each.getValue().asText()));
      assertEquals(expected, found, "batch " + batch);
    }
  }

  private static LogChange told(JsonNode row, long number) {
    long id = row.get(0).asLong();
    String kind = row.get(1).asText();
    if (kind.equals("-")) {
      List<Object> key = Arrays.asList(id, null, null, null, null);
      return new LogChange(TABLE, Message.OP_DELETE, key, number, number);
    }
    long at = START + row.get(2).asLong() * 500_000L;
    return change(row(id, "ac".contains(kind), "bc".contains(kind), at), number);
  }

  private static JsonNode tree(String name) {
    try {
      return new ObjectMapper().readTree(program(name));
    } catch (IOException error) {
      throw new IllegalStateException(error);
    }
  }

  private static Chain withMostTests(int most) {
    String set = "\"most_tests\": " + most;
    return chainOf(program("patterns").replaceAll("\"most_tests\": *\\d+", set));
  }

  @Test
  void aKeyThatIsGoneIsForgottenHoweverOftenItsRuleChanges() {
    Network network = new Network(chain);
    long day = 24 * 60 * MINUTE;
    network.batch(List.of(change(row(1, true, false, START), 1)), START, new Random(1));
    List<Object> key = Arrays.asList(1L, null, null, null, null);
    LogChange goes = new LogChange(TABLE, Message.OP_DELETE, key, 2, 2);
    network.batch(List.of(goes), START, new Random(1));
    network.batch(List.of(rule(true, true, 0)), START, new Random(1));
    long notes = network.noteBytes();

    for (int i = 1; i < 60; i++) {
      LogChange other = rule(true, i % 2 == 0, i);
      network.batch(List.of(other), START + i * day / 10, new Random(1));
    }

    assertEquals(notes, network.noteBytes());
    assertTrue(network.stateBytes(ruled()) > 0);
    network.expireAll(START + 9 * day);
    assertEquals(0, network.stateBytes(ruled()));
  }

  private int ruled() {
    List<Program.NodeProgram> nodes = chain.program().nodes();
    return IntStream.range(0, nodes.size())
        .filter(
            each -> nodes.get(each) instanceof PatternProgram pattern && pattern.rules() != null)
        .findFirst()
        .orElseThrow();
  }

  /** What a chain that never saw another row finds in the rows. */
  private Map<String, String> found(Rows rows) {
    List<LogChange> all = new ArrayList<>();
    rows.standing.values().forEach(each -> all.add(change(each, all.size())));
    rows.rules.forEach((a, wanted) -> all.add(rule(a, wanted, all.size())));
    Map<String, String> sink = new TreeMap<>();
    apply(new Network(chain).batch(all, START, new Random(0)), new HashMap<>(), sink);
    return sink;
  }

  private static void apply(
      List<Emission> emissions, Map<String, Long> versions, Map<String, String> sink) {
    for (Emission each : emissions) {
      String key = each.product() + " " + each.key();
      checkVersion(key, each, versions);
      if (each.value() == null) {
        assertTrue(sink.remove(key) != null, "a tombstone of nothing: " + key);
      } else {
        assertTrue(!each.value().equals(sink.put(key, each.value())), "sent again: " + key);
      }
    }
  }

  /** The same where what the sink holds may be sent once more. */
  private static void again(
      List<Emission> emissions, Map<String, Long> versions, Map<String, String> sink) {
    for (Emission each : emissions) {
      String key = each.product() + " " + each.key();
      checkVersion(key, each, versions);
      if (each.value() == null) {
        sink.remove(key);
      } else {
        sink.put(key, each.value());
      }
    }
  }

  private static void checkVersion(String key, Emission each, Map<String, Long> versions) {
    Long known = versions.put(key, each.version());
    assertTrue(known == null || known < each.version(), "a version fell");
  }

  private static LogChange rule(boolean a, boolean wanted, long number) {
    return new LogChange(RULE, Message.OP_UPSERT, List.of(a, wanted), number, number);
  }

  private static LogChange change(List<Object> row, long number) {
    return new LogChange(TABLE, Message.OP_UPSERT, row, number, number);
  }

  private static List<Object> row(long id, boolean a, boolean b, long at) {
    return Arrays.asList(id, 1L, a, b, at);
  }

  /** Rows that come, move and go. */
  private static final class Rows {
    private final Random random;
    private final int keys;
    private final int minutes;
    private final Map<Long, List<Object>> standing = new TreeMap<>();
    private final Map<Boolean, Boolean> rules = new TreeMap<>();
    private long number;

    Rows(Random random, int keys, int minutes) {
      this.random = random;
      this.keys = keys;
      this.minutes = minutes;
    }

    List<LogChange> next(int count) {
      List<LogChange> changes = new ArrayList<>();
      for (int i = 0; i < count; i++) {
        long id = random.nextInt(keys);
        number++;
        if (random.nextInt(12) == 0) {
          boolean a = random.nextBoolean();
          rules.put(a, random.nextBoolean());
          changes.add(rule(a, rules.get(a), number));
          continue;
        }
        if (standing.containsKey(id) && random.nextInt(3) == 0) {
          standing.remove(id);
          List<Object> key = Arrays.asList(id, null, null, null, null);
          changes.add(new LogChange(TABLE, Message.OP_DELETE, key, number, number));
          continue;
        }
        List<Object> row =
            Arrays.asList(
                id,
                random.nextInt(keys > 100 ? 1 : 2) + 1L,
                random.nextInt(3) > 0,
                random.nextBoolean(),
                random.nextInt(20) == 0 ? null : START + random.nextInt(minutes) * MINUTE);
        standing.put(id, row);
        changes.add(change(row, number));
      }
      return changes;
    }
  }
}
