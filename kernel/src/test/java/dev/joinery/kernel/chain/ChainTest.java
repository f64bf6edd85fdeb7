package dev.joinery.kernel.chain;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Whole chains of nodes against a recomputation, under random changes and random order. */
class ChainTest {
  private static final int SEEDS = Seeds.of(60);
  private static final long START = 1_700_000_000_000_000L;

  static List<Shapes.Sample> shapes() {
    return Shapes.all();
  }

  @ParameterizedTest
  @MethodSource("shapes")
  void eachBatchSendsExactlyTheDocumentsItChangedWhateverTheOrderWithinIt(Shapes.Sample shape) {
    Chain planned = chain(shape, true);
    Chain retracting = chain(shape, false);
    for (int seed = 0; seed < SEEDS; seed++) {
      runBatches(shape, seed, seed % 3 > 0 ? planned : retracting);
    }
  }

  @ParameterizedTest
  @MethodSource("shapes")
  void singleMessagesThatOvertakeEachOtherEndInTheSameDocuments(Shapes.Sample shape) {
    Chain planned = chain(shape, true);
    Chain retracting = chain(shape, false);
    for (int seed = 0; seed < SEEDS; seed++) {
      runInterleaved(shape, seed, seed % 3 > 0 ? planned : retracting);
    }
  }

  static List<Shapes.Sample> shallowShapes() {
    return Shapes.all().stream().filter(Shapes.Sample::isShallow).toList();
  }

  @ParameterizedTest
  @MethodSource("shallowShapes")
  void groupsThatAreLargeGiveTheSameDocuments(Shapes.Sample shape) {
    Chain planned = chain(shape, true);
    Chain retracting = chain(shape, false);
    for (int seed = 0; seed < 4; seed++) {
      Random random = new Random(seed);
      History history = new History(shape.roots(), random, 400);
      Network network = new Network(seed % 2 > 0 ? planned : retracting);
      runBatches(shape + ", large, seed " + seed, shape, network, history, random, 1_500);
    }
  }

  private static Chain chain(Shapes.Sample shape, boolean elide) {
    return new Chain(TreeProgram.of(elide, shape.roots().toArray(new Tree[0])));
  }

  private static void runBatches(Shapes.Sample shape, int seed, Chain chain) {
    Random random = new Random(seed);
    History history = new History(shape.roots(), random, 0);
    runBatches(shape + ", seed " + seed, shape, new Network(chain), history, random, 14);
  }

  private static void runBatches(
      String name,
      Shapes.Sample shape,
      Network network,
      History history,
      Random random,
      int mostChanges) {
    Recomputation expected = new Recomputation();
    Map<String, String> before = documents(shape, expected);
    Map<String, Long> versions = new HashMap<>();
    for (int batch = 0; batch < (mostChanges > 100 ? 4 : 12); batch++) {
      String told = name + ", batch " + batch;
      List<LogChange> changes = history.next(1 + random.nextInt(mostChanges));
      expected.apply(changes);
      Map<String, String> after = documents(shape, expected);

      List<Emission> emissions = network.batch(changes, START + batch, random);

      assertEquals(Documents.difference(before, after), sent(emissions, versions, told), told);
      before = after;
    }
  }

  private static void runInterleaved(Shapes.Sample shape, int seed, Chain chain) {
    String told = shape + ", seed " + seed;
    Random random = new Random(seed);
    Network network = new Network(chain);
    History history = new History(shape.roots(), random, 0);
    Recomputation expected = new Recomputation();
    Map<String, Long> versions = new HashMap<>();
    Map<String, String> documents = new TreeMap<>();
    List<LogChange> changes = history.next(120);
    expected.apply(changes);
    int next = 0;
    while (next < changes.size() || network.isBusy()) {
      if (next < changes.size() && (!network.isBusy() || random.nextInt(6) == 0)) {
        network.send(changes.get(next), START + next);
        next++;
      } else {
        network.deliver(random);
      }
    }
    for (Emission each : network.drain()) {
      checkVersion(each, versions, told);
      documents.put(name(each.product(), each.key()), each.value());
    }
    documents.values().removeIf(value -> value == null);
    assertEquals(documents(shape, expected), documents, told);
  }

  private static Map<String, String> documents(Shapes.Sample shape, Recomputation expected) {
    Map<String, String> documents = new TreeMap<>();
    for (Tree root : shape.roots()) {
      expected
          .documents(root)
          .forEach((key, value) -> documents.put(name(root.name(), key), value));
    }
    return documents;
  }

  private static Map<String, String> sent(
      List<Emission> emissions, Map<String, Long> versions, String told) {
    Map<String, String> sent = new TreeMap<>();
    List<String> keys = new ArrayList<>();
    for (Emission each : emissions) {
      String name = name(each.product(), each.key());
      checkVersion(each, versions, told);
      sent.put(name, each.value());
      keys.add(name);
    }
    assertEquals(sent.size(), keys.size(), told + ": a document was sent twice");
    return sent;
  }

  private static void checkVersion(Emission each, Map<String, Long> versions, String told) {
    Long known = versions.put(name(each.product(), each.key()), each.version());
    assertTrue(known == null || known < each.version(), told + ": a version fell");
  }

  private static String name(String product, String key) {
    return product + " " + key;
  }
}
