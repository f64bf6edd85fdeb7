package dev.joinery.kernel.chain;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.node.TextNode;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.ingress.PendingRoots;
import dev.joinery.kernel.state.MemoryState;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Real-time mode that ends without a commit: the sink has documents of messages that state knows
 * nothing of, and all of them come again, in another order or in batches.
 */
class CrashTest {
  private static final int SEEDS = Seeds.of(20);
  private static final long START = 1_700_000_000_000_000L;

  static List<Shapes.Sample> shapes() {
    return Shapes.all();
  }

  @ParameterizedTest
  @MethodSource("shapes")
  void aCrashInRealTimeThatGoesOnInRealTimeEndsInTheSameDocuments(Shapes.Sample shape) {
    Chain chain = new Chain(TreeProgram.of(true, shape.roots().toArray(new Tree[0])));
    for (int seed = 0; seed < SEEDS; seed++) {
      new Story(shape, seed, chain).crashThen(Story::goOnInRealTime);
    }
  }

  @ParameterizedTest
  @MethodSource("shapes")
  void aCrashInRealTimeThatGoesOnInBatchesEndsInTheSameDocuments(Shapes.Sample shape) {
    Chain chain = new Chain(TreeProgram.of(false, shape.roots().toArray(new Tree[0])));
    for (int seed = 0; seed < SEEDS; seed++) {
      new Story(shape, seed, chain).crashThen(Story::goOnInBatches);
    }
  }

  private interface Rest {
    void run(Story story, List<LogChange> changes, List<PendingRoots.Root> pending);
  }

  /** One seed's history, and a sink that keeps the newest version of each document. */
  private static final class Story {
    private final String told;
    private final Shapes.Sample shape;
    private final Chain chain;
    private final Network network;
    private final Random random;
    private final Map<String, Emission> sink = new TreeMap<>();
    private final Map<String, Emission> uncommitted = new TreeMap<>();
    private long clock = START;

    Story(Shapes.Sample shape, int seed, Chain chain) {
      this.told = shape + ", seed " + seed;
      this.shape = shape;
      this.chain = chain;
      this.network = new Network(chain);
      this.random = new Random(seed);
    }

    void crashThen(Rest rest) {
      History history = new History(shape.roots(), random, 0);
      Recomputation expected = new Recomputation();
      List<LogChange> committed = history.next(1 + random.nextInt(60));
      interleave(committed, Integer.MAX_VALUE);
      uncommitted.clear();
      Map<Slice, MemoryState> checkpoint = network.checkpoint();
      List<LogChange> lost = history.next(1 + random.nextInt(40));
      interleave(lost, random.nextInt(200));
      network.restore(checkpoint);

      rest.run(this, lost, pending());

      expected.apply(committed);
      expected.apply(lost);
      assertEquals(documents(expected), published(), told);
    }

    void goOnInRealTime(List<LogChange> changes, List<PendingRoots.Root> pending) {
      clock += 1_000;
      network.send(pending);
      interleave(changes, Integer.MAX_VALUE);
    }

    /** Also where the clock was set back. */
    void goOnInBatches(List<LogChange> changes, List<PendingRoots.Root> pending) {
      clock = random.nextBoolean() ? START : clock;
      int cut = random.nextInt(changes.size() + 1);
      network.batch(changes.subList(0, cut), pending, clock++, random).forEach(this::publish);
      network
          .batch(changes.subList(cut, changes.size()), clock++, random)
          .forEach(this::publish);
    }

    /** Sends changes while messages are delivered, at most so many, one at a time. */
    private void interleave(List<LogChange> changes, int most) {
      int next = 0;
      int delivered = 0;
      while (delivered < most && (next < changes.size() || network.isBusy())) {
        if (next < changes.size() && (!network.isBusy() || random.nextInt(6) == 0)) {
          network.send(changes.get(next++), clock++);
        } else {
          network.deliver(random);
          delivered++;
        }
      }
      network.drain().forEach(this::publish);
    }

    private void publish(Emission emission) {
      String name = emission.product() + " " + emission.key();
      Emission known = sink.put(name, emission);
      assertTrue(known == null || known.version() < emission.version(), told + ": a version fell");
      uncommitted.put(name, emission);
    }

    private List<PendingRoots.Root> pending() {
      List<String> roots = new ArrayList<>();
      for (Emission each : uncommitted.values()) {
        roots.add(
            String.format(
                "{\"product\":\"%s\",\"key\":%s,\"version\":%d}",
                each.product(), TextNode.valueOf(each.key()), each.version()));
      }
      return network.roots(roots.stream());
    }

    private Map<String, String> documents(Recomputation expected) {
      Map<String, String> documents = new TreeMap<>();
      for (Tree root : shape.roots()) {
        expected
            .documents(root)
            .forEach((key, value) -> documents.put(root.name() + " " + key, value));
      }
      return documents;
    }

    private Map<String, String> published() {
      Map<String, String> published = new TreeMap<>();
      sink.forEach((name, each) -> published.put(name, each.value()));
      published.values().removeIf(value -> value == null);
      return published;
    }
  }
}
