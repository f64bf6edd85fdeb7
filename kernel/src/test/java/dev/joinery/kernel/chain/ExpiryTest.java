package dev.joinery.kernel.chain;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.joinery.kernel.message.Message;
import dev.joinery.kernel.program.Program;
import dev.joinery.kernel.state.MemoryState;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What was deleted is forgotten after its retention, and nobody can tell from the documents. */
class ExpiryTest {
  private static final int SEEDS = Seeds.of(10);
  private static final long START = 1_700_000_000_000_000L;
  private static final long SECOND = 1_000_000;
  private static final long RETENTION = 60 * SECOND;
  private static final Table STAR =
      Table.of("star", 3, "username long, repo_name long, repo_owner long, created long");
  private static final Table REPO =
      Table.of("repo", 2, "owner long, name long, description string");
  private static final Table USER = Table.of("user", 1, "email long, username long");

  private long place;

  static List<Shapes.Sample> shapes() {
    return Shapes.all();
  }

  private static Chain chain(boolean elide, List<Tree> roots) {
    Program program = TreeProgram.of(elide, roots.toArray(new Tree[0]));
    return new Chain(
        new Program(
            program.levels(),
            program.relations(),
            program.nodes(),
            program.assemblers(),
            program.products(),
            program.routes(),
            program.entries(),
            RETENTION,
            program.maxDocumentBytes(),
        List.of(),
            null));
  }

  /** As planned, and with a Retract for each relation. */
  private static List<Chain> chains(List<Tree> roots) {
    return List.of(chain(true, roots), chain(false, roots));
  }

  private LogChange upsert(Table table, Object... row) {
    place++;
    return new LogChange(table, Message.OP_UPSERT, Arrays.asList(row), place, place);
  }

  private LogChange delete(Table table, Object... row) {
    place++;
    return new LogChange(table, Message.OP_DELETE, Arrays.asList(row), place, place);
  }

  private static Tree stars() {
    Tree repo = Tree.one("r", REPO, "owner=repo_owner,name=repo_name");
    return Tree.root("user", USER, Tree.many("stars", STAR, "username=username", repo));
  }

  @ParameterizedTest
  @MethodSource("shapes")
  void nothingIsLeftOfWhatWasDeletedOnceItsRetentionIsOver(Shapes.Sample shape) {
    List<Chain> chains = chains(shape.roots());
    for (int seed = 0; seed < SEEDS; seed++) {
      Random random = new Random(seed);
      Network network = new Network(chains.get(seed % 2));
      History history = new History(shape.roots(), random, 0);
      List<LogChange> log = history.next(60);
      network.batch(log, START, random);
      network.batch(deletes(log), START + SECOND, random);
      assertTrue(network.addressCount() > 0, "deletes are remembered");

      network.expireAll(START + SECOND + RETENTION);
      long before = network.addressCount();
      network.expireAll(START + 4 * SECOND + RETENTION + RETENTION / 32);

      String told = shape + ", seed " + seed;
      assertTrue(before > 0, told + ": a delete is remembered as long as it must be");
      assertEquals(0, network.addressCount(), told);
      assertEquals(0, network.stateBytes(), told);
      assertTrue(network.noteBytes() <= 8L * network.levels(), told + ": notes are left");
    }
  }

  /** Deletes of all rows of a log, which stand after it. */
  private static List<LogChange> deletes(List<LogChange> log) {
    Set<List<Object>> seen = new HashSet<>();
    List<LogChange> deletes = new ArrayList<>();
    for (LogChange each : log) {
      List<Object> name = new ArrayList<>(each.table().keyOf(each.row()));
      name.add(each.table().name());
      if (seen.add(name)) {
        long at = 1_000_000 + deletes.size();
        deletes.add(new LogChange(each.table(), Message.OP_DELETE, each.row(), at, at));
      }
    }
    return deletes;
  }

  @ParameterizedTest
  @MethodSource("shapes")
  void whatIsForgottenAltersNoDocumentAndNoVersion(Shapes.Sample shape) {
    List<Chain> chains = chains(shape.roots());
    for (int seed = 0; seed < SEEDS; seed++) {
      Chain chain = chains.get(seed % 2);
      Network forgetting = new Network(chain);
      Network keeping = new Network(chain);
      keeping.keepEverything();
      Random random = new Random(seed);
      History history = new History(shape.roots(), random, 0);
      long clock = START;
      for (int batch = 0; batch < 30; batch++) {
        clock += 1 + (long) (random.nextDouble() * RETENTION);
        List<LogChange> changes = history.next(1 + random.nextInt(14));

        List<Emission> sent = forgetting.batch(changes, clock, new Random(seed));

        List<Emission> expected = keeping.batch(changes, clock, new Random(seed + 1));
        String told = shape + ", seed " + seed + ", batch " + batch;
        assertEquals(new HashSet<>(expected), new HashSet<>(sent), told);
      }
      assertTrue(forgetting.stateBytes() <= keeping.stateBytes());
    }
  }

  @ParameterizedTest
  @MethodSource("shapes")
  void singleMessagesThatOvertakeEachOtherEndInTheSameDocuments(Shapes.Sample shape) {
    List<Chain> chains = chains(shape.roots());
    for (int seed = 0; seed < SEEDS; seed++) {
      Chain chain = chains.get(seed % 2);
      Map<String, String> forgetting = interleaved(shape, seed, new Network(chain));
      Network keeping = new Network(chain);
      keeping.keepEverything();

      assertEquals(interleaved(shape, seed, keeping), forgetting, shape + ", seed " + seed);
    }
  }

  /** Some batches of real-time mode, at whose ends nothing is under way. */
  private static Map<String, String> interleaved(Shapes.Sample shape, int seed, Network network) {
    History history = new History(shape.roots(), new Random(seed), 0);
    Random clocks = new Random(seed);
    Random random = new Random(seed);
    Map<String, String> documents = new TreeMap<>();
    Map<String, Long> versions = new HashMap<>();
    long clock = START;
    for (int batch = 0; batch < 6; batch++) {
      network.beginTasks();
      List<LogChange> changes = history.next(40);
      int next = 0;
      while (next < changes.size() || network.isBusy()) {
        if (next < changes.size() && (!network.isBusy() || random.nextInt(6) == 0)) {
          clock += (long) (clocks.nextDouble() * RETENTION / 2);
          network.send(changes.get(next++), clock);
        } else {
          network.deliver(random);
        }
      }
    }
    for (Emission each : network.drain()) {
      String name = each.product() + " " + each.key();
      Long known = versions.put(name, each.version());
      assertTrue(known == null || known < each.version(), shape + ": a version fell");
      documents.put(name, each.value());
    }
    documents.values().removeIf(value -> value == null);
    return documents;
  }

  @Test
  void aVersionRisesAlsoWhereTheClockWasSetBackAndItsRootForgotten() {
    Network network = new Network(chain(true, List.of(stars())));
    Random random = new Random(1);
    network.batch(List.of(upsert(USER, 1L, 7L)), START, random);
    List<Emission> gone =
        network.batch(List.of(delete(USER, 1L, null)), START + 9 * RETENTION, random);
    network.expireAll(START + 99 * RETENTION);
    assertEquals(0, network.addressCount());

    List<Emission> again = network.batch(List.of(upsert(USER, 1L, 8L)), START + SECOND, random);

    assertEquals(1, again.size());
    assertTrue(again.get(0).version() > gone.get(0).version());
  }

  @Test
  void aRowThatIsDeletedAgainIsRememberedFromThenOn() {
    Network network = new Network(chain(true, List.of(stars())));
    Random random = new Random(1);
    long later = START + RETENTION / 2;
    network.batch(List.of(upsert(REPO, 1L, 1L, "text")), START, random);
    network.batch(List.of(delete(REPO, 1L, 1L, null)), START, random);
    network.batch(List.of(upsert(REPO, 1L, 1L, "text")), later, random);
    network.batch(List.of(delete(REPO, 1L, 1L, null)), later, random);

    network.expireAll(START + RETENTION + 9 * SECOND);
    assertEquals(1, network.addressCount());
    network.expireAll(later + RETENTION + 9 * SECOND);

    assertEquals(0, network.addressCount());
  }

  @Test
  void deadParentsOfALookupLeaveThePagesOfALivingChild() {
    Network network = new Network(chain(true, List.of(stars())));
    network.endAfter(1);
    Random random = new Random(1);
    network.batch(List.of(upsert(REPO, 1L, 1L, "text")), START, random);
    network.batch(stars(0, 20_000), START, random);
    MemoryState lookup = network.largestState();
    assertTrue(lookup.pageCount() > 100);
    network.batch(unstars(0, 20_000), START + SECOND, random);
    network.batch(stars(20_000, 20_010), START + SECOND, random);

    network.expireAll(START + 9 * SECOND + RETENTION);

    assertTrue(lookup.pageCount() <= 1, lookup.pageCount() + " pages are left");
    assertTrue(lookup.valueBytes() < 2_000, lookup.valueBytes() + " bytes are left");
  }

  @Test
  void stateStaysFlatUnderChurnAndNoBatchLooksAtMuchMoreThanItsMessages() {
    Network network = new Network(chain(true, List.of(stars())));
    network.endAfter(1);
    Random random = new Random(1);
    network.batch(List.of(upsert(REPO, 1L, 1L, "text")), START, random);
    long mostBytes = 0;
    for (int batch = 0; batch < 400; batch++) {
      long from = batch * 100L;
      List<LogChange> changes = new ArrayList<>(stars(from, from + 100));
      changes.addAll(unstars(from - 300, from - 200));
      network.batch(changes, START + batch * SECOND, random);
      long bytes = network.stateBytes() + network.noteBytes();
      if (batch < 150) {
        mostBytes = Math.max(mostBytes, bytes);
      } else {
        assertTrue(bytes <= mostBytes * 1.05, bytes + " bytes after batch " + batch);
      }
    }
  }

  @Test
  void manyDeletesThatAreDueAtOnceAreForgottenOverSeveralBatches() {
    Network network = new Network(chain(true, List.of(stars())));
    network.endAfter(1);
    Random random = new Random(1);
    network.batch(stars(0, 10_000), START, random);
    network.batch(unstars(0, 10_000), START, random);
    long notes = network.noteBytes();

    network.batch(stars(50_000, 50_100), START + 2 * RETENTION, random);

    assertTrue(network.noteBytes() > notes * 0.95, "as many as the messages pay for");

    for (int batch = 0; batch < 60; batch++) {
      network.batch(stars(50_000, 50_100), START + 2 * RETENTION + batch, random);
    }

    assertTrue(network.noteBytes() < 100, network.noteBytes() + " bytes of notes");
  }

  private List<LogChange> stars(long from, long to) {
    return LongStream.range(from, to).mapToObj(each -> upsert(STAR, each, 1L, 1L, 0L)).toList();
  }

  private List<LogChange> unstars(long from, long to) {
    return LongStream.range(Math.max(0, from), Math.max(0, to))
        .mapToObj(each -> delete(STAR, each, 1L, 1L, null))
        .toList();
  }
}
