package dev.joinery.kernel.chain;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import com.fasterxml.jackson.databind.node.TextNode;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.ingress.PendingRoots;
import dev.joinery.kernel.message.Message;
import dev.joinery.kernel.program.GroupProgram;
import dev.joinery.kernel.state.MemoryState;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Groups against a recomputation, under random changes and random order. */
class GroupTest {
  private static final int SEEDS = Seeds.of(20);
  private static final long START = 1_700_000_000_000_000L;
  private static final long MINUTE = 60_000_000L;

  static Stream<GroupSample> samples() {
    GroupProgram.WindowProgram tumbling =
        GroupSample.window(GroupProgram.WindowShape.TUMBLING, 10 * MINUTE, 10 * MINUTE);
    GroupProgram.WindowProgram hopping =
        GroupSample.window(GroupProgram.WindowShape.HOPPING, 10 * MINUTE, 4 * MINUTE);
    GroupProgram.WindowProgram cumulative =
        GroupSample.window(GroupProgram.WindowShape.CUMULATIVE, 12 * MINUTE, 4 * MINUTE);
    return Stream.of(
        new GroupSample("sums", null, List.of("sum"), false),
        new GroupSample("sums of some", null, List.of("sum"), true),
        new GroupSample("extremes", null, List.of("min", "max"), false),
        new GroupSample("tumbling sums", tumbling, List.of("sum"), false),
        new GroupSample("tumbling extremes", tumbling, List.of("sum", "max"), true),
        new GroupSample("hopping sums", hopping, List.of("sum"), false),
        new GroupSample("hopping extremes", hopping, List.of("min"), false),
        new GroupSample("distinct values", null, List.of("count_distinct", "min"), true),
        new GroupSample("tumbling distinct values", tumbling, List.of("count_distinct"), false),
        new GroupSample("cumulative sums", cumulative, List.of("sum"), true),
        new GroupSample("cumulative extremes", cumulative, List.of("max"), false),
        session("session sums", 0, true, List.of("sum"), false),
        session("session extremes", 0, true, List.of("min", "max"), true),
        session("distinct values of sessions", 0, true, List.of("count_distinct"), false),
        session("cut session sums", 9, true, List.of("sum"), true),
        session("cut session extremes", 9, true, List.of("sum", "max"), false),
        session("sessions that grow", 0, false, List.of("sum", "min"), false));
  }

  private static GroupSample session(
      String name, long maxMinutes, boolean divides, List<String> functions, boolean where) {
    GroupProgram.SessionProgram session =
        new GroupProgram.SessionProgram(4 * MINUTE, maxMinutes * MINUTE, divides);
    return new GroupSample(name, null, session, functions, where);
  }

  @ParameterizedTest
  @MethodSource("samples")
  void eachBatchSendsExactlyTheGroupsItChangedWhateverTheOrderWithinIt(GroupSample sample) {
    Chain chain = new Chain(sample.program());
    for (int seed = 0; seed < SEEDS; seed++) {
      runBatches(sample, seed, new Network(chain), 8, 14);
    }
  }

  @ParameterizedTest
  @MethodSource("samples")
  void groupsOfManyRowsGiveTheSame(GroupSample sample) {
    Chain chain = new Chain(sample.program());
    for (int seed = 0; seed < 3; seed++) {
      runBatches(sample, seed, new Network(chain), 2_000, 1_500);
    }
  }

  @ParameterizedTest
  @MethodSource("samples")
  void singleMessagesThatOvertakeEachOtherEndInTheSameGroups(GroupSample sample) {
    Chain chain = new Chain(sample.program());
    for (int seed = 0; seed < SEEDS; seed++) {
      runInterleaved(sample, seed, new Network(chain));
    }
  }

  @ParameterizedTest
  @MethodSource("samples")
  void aCrashBetweenTwoCommitsEndsInTheSameGroups(GroupSample sample) {
    Chain chain = new Chain(sample.program());
    for (int seed = 0; seed < SEEDS; seed++) {
      runCrashing(sample, seed, chain);
    }
  }

  @ParameterizedTest
  @MethodSource("samples")
  void groupsWithoutRowsAreForgottenAndTheirVersionsStillRise(GroupSample sample) {
    assumeFalse(sample.appends());
    Random random = new Random(7);
    Rows rows = new Rows(sample, random, 8, 50);
    Network network = new Network(new Chain(sample.program()));
    Map<String, Long> versions = new HashMap<>();
    Map<String, String> sink = new TreeMap<>();
    long later = 0;
    for (int round = 0; round < 12; round++) {
      later += 8L * 24 * 3600 * 1_000_000;
      apply(network.batch(rows.next(20), START + later, random), versions, sink);
      assertEquals(sample.groups(rows.standing.values()), sink);
      apply(network.batch(rows.deleteAll(), START + later + 1, random), versions, sink);
      assertEquals(Map.of(), sink);
      network.expireAll(START + later + 9L * 24 * 3600 * 1_000_000);
      assertEquals(0, network.addressCount());
    }
  }

  @ParameterizedTest
  @MethodSource("windowed")
  void aWindowWhoseTimeIsOverIsForgottenWithAllItsRows(GroupSample sample) {
    Random random = new Random(11);
    Rows rows = new Rows(sample, random, 2_000, 50);
    Network network = new Network(new Chain(sample.forgetting(60 * MINUTE).program()));
    Map<String, Long> versions = new HashMap<>();
    Map<String, String> sink = new TreeMap<>();
    apply(network.batch(rows.insertAnew(3_000), START, random), versions, sink);
    long before = network.addressCount();

    network.forgetWindows(30 * MINUTE);
    assertEquals(before, network.addressCount(), "nothing is due so soon");
    network.forgetWindows(60L * 24 * 60 * MINUTE);

    assertEquals(3_000, network.addressCount(), "rows of the relation are left");
    List<Emission> again = network.batch(rows.insertAnew(50), START + 1, random);
    apply(again, versions, sink);
    assertTrue(again.size() > 0, "and versions rise");
  }

  @ParameterizedTest
  @MethodSource("windowed")
  void whatWasCommittedStaysThoughItsWindowWasForgottenSince(GroupSample sample) {
    Random random = new Random(13);
    Rows rows = new Rows(sample, random, 40, 50);
    Network network = new Network(new Chain(sample.forgetting(60 * MINUTE).program()));
    Map<String, Long> versions = new HashMap<>();
    List<Emission> committed = network.batch(rows.insertAnew(60), START, random);
    apply(committed, versions, new TreeMap<>());
    assertTrue(committed.size() > 10, "there are groups");
    List<PendingRoots.Root> roots = network.roots(told(committed, versions));

    assertEquals(List.of(), network.batch(List.of(), roots, START + 1, random));
    network.forgetWindows(60L * 24 * 60 * MINUTE);

    assertEquals(List.of(), network.batch(List.of(), roots, START + 2, random));
  }

  static Stream<GroupSample> windowed() {
    return samples().filter(each -> each.window() != null);
  }

  private static void runBatches(
      GroupSample sample, int seed, Network network, int keys, int mostChanges) {
    Random random = new Random(seed);
    Rows rows = new Rows(sample, random, keys, seed % 2 == 0 ? 50 : minutes(sample, keys));
    Map<String, Long> versions = new HashMap<>();
    Map<String, String> before = Map.of();
    for (int batch = 0; batch < (keys > 100 ? 4 : 12); batch++) {
      String told = sample + ", seed " + seed + ", batch " + batch;
      List<LogChange> changes = rows.next(1 + random.nextInt(mostChanges));
      Map<String, String> after = sample.groups(rows.standing.values());
      Map<String, String> sent = new TreeMap<>();
      List<Emission> emissions = network.batch(changes, START + batch, random);
      for (Emission each : emissions) {
        checkVersion(each, versions);
        sent.put(each.key(), each.value());
      }
      assertEquals(Documents.difference(before, after), sent, told);
      assertEquals(sent.size(), emissions.size(), told + ": a group was sent twice");
      before = after;
    }
  }

  /** How long a time rows are spread over, so that there are many sessions. */
  private static int minutes(GroupSample sample, int keys) {
    return sample.session() == null ? 50 : Math.max(keys, 50);
  }

  private static void runInterleaved(GroupSample sample, int seed, Network network) {
    Random random = new Random(seed);
    Rows rows = new Rows(sample, random, 8, 50);
    List<LogChange> changes = rows.next(120);
    Map<String, Long> versions = new HashMap<>();
    Map<String, String> sink = new TreeMap<>();
    int next = 0;
    while (next < changes.size() || network.isBusy()) {
      if (next < changes.size() && (!network.isBusy() || random.nextInt(6) == 0)) {
        network.send(changes.get(next), START + next);
        next++;
      } else {
        network.deliver(random);
      }
    }
    apply(network.drain(), versions, sink);
    assertEquals(sample.groups(rows.standing.values()), sink, sample + ", seed " + seed);
  }

  /** What is sent after the checkpoint stays in the sink, and the same changes come in batches. */
  private static void runCrashing(GroupSample sample, int seed, Chain chain) {
    Random random = new Random(seed);
    Network network = new Network(chain);
    Rows rows = new Rows(sample, random, 8, 50);
    Map<String, Long> versions = new HashMap<>();
    Map<String, String> sink = new TreeMap<>();
    apply(network.batch(rows.next(60), START, random), versions, sink);
    Map<Slice, MemoryState> checkpoint = network.checkpoint();
    List<LogChange> lost = rows.next(40);
    for (int next = 0; next < lost.size(); next++) {
      network.send(lost.get(next), START + 1_000 + next);
      for (int left = random.nextInt(4); left > 0 && network.isBusy(); left--) {
        network.deliver(random);
      }
    }
    List<Emission> uncommitted = network.drain();
    apply(uncommitted, versions, sink);
    network.restore(checkpoint);

    List<PendingRoots.Root> roots = network.roots(told(uncommitted, versions));
    int cut = random.nextInt(lost.size());
    apply(network.batch(lost.subList(0, cut), roots, START + 1, random), versions, sink);
    apply(network.batch(lost.subList(cut, lost.size()), START + 2, random), versions, sink);

    assertEquals(sample.groups(rows.standing.values()), sink, sample + ", seed " + seed);
  }

  private static Stream<String> told(List<Emission> uncommitted, Map<String, Long> versions) {
    return uncommitted.stream()
        .map(Emission::key)
        .distinct()
        .map(
            key ->
                String.format(
                    "{\"product\":\"%s\",\"key\":%s,\"version\":%d}",
                    GroupSample.PRODUCT, TextNode.valueOf(key), versions.get(key)));
  }

  private static void apply(
      List<Emission> emissions, Map<String, Long> versions, Map<String, String> sink) {
    for (Emission each : emissions) {
      checkVersion(each, versions);
      if (each.value() == null) {
        sink.remove(each.key());
      } else {
        sink.put(each.key(), each.value());
      }
    }
  }

  private static void checkVersion(Emission each, Map<String, Long> versions) {
    Long known = versions.put(each.key(), each.version());
    assertTrue(known == null || known < each.version(), each.key() + ": a version fell");
  }

  /** Random rows that come, change and go. */
  private static final class Rows {
    private final Random random;
    private final int keys;
    private final int minutes;
    private final boolean appends;
    private final Map<Long, List<Object>> standing = new TreeMap<>();
    private long place;

    Rows(GroupSample sample, Random random, int keys, int minutes) {
      this.random = random;
      this.minutes = minutes;
      this.appends = sample.appends();
      this.keys = keys;
    }

    List<LogChange> next(int count) {
      List<LogChange> changes = new ArrayList<>();
      for (int i = 0; i < count; i++) {
        long key = appends ? place : random.nextInt(keys);
        List<Object> known = standing.get(key);
        if (known != null && random.nextInt(3) == 0) {
          changes.add(delete(key));
        } else {
          List<Object> row = known == null ? row(key) : new ArrayList<>(known);
          int column = 1 + random.nextInt(row.size() - 1);
          row.set(column, row(key).get(column));
          standing.put(key, row);
          changes.add(
              new LogChange(GroupSample.TABLE, Message.OP_UPSERT, row, place, place++));
        }
      }
      return changes;
    }

    /** Rows of keys that nobody has. */
    List<LogChange> insertAnew(int count) {
      List<LogChange> changes = new ArrayList<>();
      for (int i = 0; i < count; i++) {
        List<Object> row = row(keys + place);
        changes.add(new LogChange(GroupSample.TABLE, Message.OP_UPSERT, row, place, place++));
      }
      return changes;
    }

    List<LogChange> deleteAll() {
      return new ArrayList<>(standing.keySet()).stream().map(this::delete).toList();
    }

    private LogChange delete(long key) {
      standing.remove(key);
      List<Object> row = Arrays.asList(key, null, null, null, null);
      return new LogChange(GroupSample.TABLE, Message.OP_DELETE, row, place, place++);
    }

    private List<Object> row(long key) {
      List<Object> row = new ArrayList<>();
      row.add(key);
      row.add(random.nextInt(6) == 0 ? null : "kind " + random.nextInt(3));
      row.add(random.nextInt(9) == 0 ? null : (random.nextInt(minutes) - minutes / 2) * MINUTE);
      row.add(random.nextInt(6) == 0 ? null : (Object) (long) random.nextInt(5));
      row.add(random.nextInt(4) > 0);
      return row;
    }
  }
}
