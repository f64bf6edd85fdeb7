package dev.joinery.kernel.chain;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.joinery.kernel.message.Message;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** A root that a ToOne assembles moves from one address to another while messages are on their way. */
class MovedRootTest {
  private static final int SEEDS = Seeds.of(200);
  private static final long START = 1_700_000_000_000_000L;
  private static final long WEEK = 7L * 24 * 3600 * 1_000_000;
  private static final Table SHOP = Table.of("shop", 1, "id long, city long");
  private static final Table SALE = Table.of("sale", 1, "id long, shop long, open boolean");

  private final Chain chain =
      new Chain(
          TreeProgram.of(
              true, Tree.root("sale", SALE, Tree.one("shop", SHOP, "id=shop")).where("open")));
  private int place;

  private LogChange change(Table table, Object... row) {
    return new LogChange(table, Message.OP_UPSERT, Arrays.asList(row), place, place++);
  }

  /** Sends changes while messages that were sent before are delivered, in any order. */
  private List<Emission> inRealTime(Network network, List<LogChange> changes, Random random) {
    int next = 0;
    while (next < changes.size() || network.isBusy()) {
      if (next < changes.size() && (!network.isBusy() || random.nextInt(3) == 0)) {
        network.send(changes.get(next), START + next);
        next++;
      } else {
        network.deliver(random);
      }
    }
    return network.drain();
  }

  @Test
  void aRowThatMovesIsNeverGoneBetween() {
    for (int seed = 0; seed < SEEDS; seed++) {
      Random random = new Random(seed);
      List<LogChange> changes = new ArrayList<>();
      for (int i = 0; i < 40; i++) {
        changes.add(
            i % 3 == 0
                ? change(SHOP, (long) random.nextInt(3), (long) i)
                : change(SALE, 1L, (long) random.nextInt(3), true));
      }

      List<Emission> sent = inRealTime(new Network(chain), changes, random);

      assertTrue(sent.stream().noneMatch(each -> each.value() == null), "seed " + seed);
    }
  }

  @Test
  void aRowThatIsLeftOutWhereItCameToDoesNotComeBackFromWhereItWas() {
    for (int seed = 0; seed < SEEDS; seed++) {
      List<LogChange> changes =
          List.of(
              change(SALE, 1L, 1L, true),
              change(SHOP, 1L, 7L),
              change(SHOP, 1L, 8L),
              change(SALE, 1L, 2L, false));

      List<Emission> sent = inRealTime(new Network(chain), changes, new Random(seed));

      assertTrue(
          sent.isEmpty() || sent.get(sent.size() - 1).value() == null,
          "seed " + seed + ": " + sent);
    }
  }

  @Test
  void thatARowWasLeftOutIsForgottenAsADeleteIs() {
    Network network = new Network(chain);
    Random random = new Random(1);
    network.batch(List.of(change(SALE, 1L, 1L, false)), START, random);
    long before = network.addressCount();
    network.batch(List.of(change(SALE, 1L, 2L, false)), START + 1, random);
    assertEquals(before + 1, network.addressCount());

    network.expireAll(START + 2 * WEEK);

    assertEquals(before, network.addressCount());
  }
}
