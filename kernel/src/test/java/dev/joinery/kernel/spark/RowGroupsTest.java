package dev.joinery.kernel.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.joinery.kernel.bytes.Address;
import dev.joinery.kernel.bytes.ByteWriter;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.apache.spark.SparkConf;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;
import org.junit.jupiter.api.Test;

/** Inside of real tasks, since memory is a task's. */
final class RowGroupsTest {
  private static final long MUCH = 1L << 40;
  private static final HexFormat HEX = HexFormat.of();
  private static final JavaSparkContext SPARK =
      JavaSparkContext.fromSparkContext(LocalSpark.SESSION.sparkContext());

  @Test
  void threadsOfALocalMasterShareTheMemoryOfAll() {
    SparkConf eight = new SparkConf(false).set("spark.master", "local[8]");
    SparkConf three = new SparkConf(false).set("spark.master", "spark://here:7077");

    assertEquals(8, RowGroups.tasksAtOnce(eight));
    assertEquals(3, RowGroups.tasksAtOnce(three.set("spark.executor.cores", "3")));
  }

  @Test
  void messagesOfAnAddressComeTogetherInTheirOrder() {
    List<Sent> sent = random(5_000, 300, 400);

    assertEquals(expected(sent), inOrder(grouped(sent, MUCH)));
  }

  @Test
  void addressesOfOneHashStayApart() {
    List<Sent> sent = new ArrayList<>();
    for (int i = 0; i < 1_000; i++) {
      sent.add(new Sent(address(7, "k" + i % 17), text(i)));
      sent.add(new Sent(address(-7, "k" + i % 3), text(i)));
    }

    assertEquals(expected(sent), inOrder(grouped(sent, MUCH)));
  }

  @Test
  void groupsComeInTheOrderOfUnsignedHashes() {
    List<Sent> sent = new ArrayList<>();
    for (int hash : new int[] {-1, 5, Integer.MIN_VALUE, 0, Integer.MAX_VALUE}) {
      sent.add(new Sent(address(hash, "k"), text(hash)));
    }

    List<String> hashes =
        grouped(sent, MUCH).stream().map(group -> group.get(0).substring(0, 8)).toList();

    assertEquals(List.of("00000000", "00000005", "7fffffff", "80000000", "ffffffff"), hashes);
  }

  @Test
  void messagesLargerThanAPageAreTaken() {
    List<Sent> sent = new ArrayList<>(random(100, 10, 50));
    sent.add(new Sent(address(1, "large"), new byte[9_000_001]));
    sent.addAll(random(100, 10, 50));

    assertEquals(expected(sent), inOrder(grouped(sent, MUCH)));
  }

  @Test
  void whatDoesNotFitIsSortedOnDisk() {
    List<Sent> sent = random(20_000, 1_000, 300);

    for (long most : new long[] {0, 70_000, 1_500_000}) {
      assertEquals(unordered(expected(sent)), unordered(grouped(sent, most)));
    }
  }

  @Test
  void nothingGivesNothing() {
    assertTrue(grouped(List.of(), MUCH).isEmpty());
    assertTrue(grouped(List.of(), 0).isEmpty());
  }

  @Test
  void aTaskThatStopsInTheMiddleLeavesNothingBehind() {
    List<Sent> sent = random(3_000, 100, 100);

    List<Boolean> more =
        SPARK
            .parallelize(List.of(MUCH, 0L), 2)
            .map(
                most -> {
                  RowGroups groups = filled(sent, most);
                  Iterator<RowGroups.Group> all = groups.groups();
                  all.next();
                  return all.hasNext();
                })
            .collect();

    // Spark fails a task that ends with memory that nobody freed.
    assertFalse(more.contains(false));
  }

  private record Sent(byte[] address, byte[] message) implements Serializable {}

  /** In a task: an address, then its messages, each. */
  private static List<List<String>> grouped(List<Sent> sent, long most) {
    return SPARK
        .parallelize(List.of(most), 1)
        .map(
            each -> {
              List<List<String>> told = new ArrayList<>();
              Iterator<RowGroups.Group> groups = filled(sent, each).groups();
              while (groups.hasNext()) {
                RowGroups.Group group = groups.next();
                List<String> one = new ArrayList<>(List.of(HEX.formatHex(group.address())));
                group.messages().forEach(message -> one.add(digest(message)));
                told.add(one);
              }
              return told;
            })
        .collect()
        .get(0);
  }

  private static RowGroups filled(List<Sent> sent, long most) {
    RowGroups groups = RowGroups.of(TaskContext.get(), most);
    UnsafeRowWriter writer = new UnsafeRowWriter(2, 64);
    for (Sent each : sent) {
      writer.reset();
      writer.zeroOutNullBytes();
      writer.write(0, each.message());
      writer.write(1, each.address());
      UnsafeRow row = writer.getRow();
      groups.add(row);
    }
    return groups;
  }

  private static List<Sent> random(int rows, int addresses, int size) {
    Random random = new Random(rows);
    List<Sent> sent = new ArrayList<>();
    for (int i = 0; i < rows; i++) {
      byte[] message = new byte[random.nextInt(size)];
      random.nextBytes(message);
      byte[] key = text(random.nextInt(addresses));
      sent.add(new Sent(Address.of(random.nextInt(3), key), message));
    }
    return sent;
  }

  private static byte[] address(int hash, String key) {
    return new ByteWriter().writeInt(hash).writeVarInt(1).writeRaw(key.getBytes()).toBytes();
  }

  private static byte[] text(int number) {
    return String.valueOf(number).getBytes();
  }

  private static String digest(byte[] message) {
    return message.length + ":" + java.util.Arrays.hashCode(message);
  }

  /** By address; the messages of each as they were sent. */
  private static Map<String, List<String>> expected(List<Sent> sent) {
    Map<String, List<String>> expected = new TreeMap<>();
    for (Sent each : sent) {
      expected
          .computeIfAbsent(HEX.formatHex(each.address()), address -> new ArrayList<>())
          .add(digest(each.message()));
    }
    return expected;
  }

  /** Fails where an address comes twice. */
  private static Map<String, List<String>> inOrder(List<List<String>> groups) {
    Map<String, List<String>> found = new LinkedHashMap<>();
    for (List<String> group : groups) {
      assertEquals(null, found.put(group.get(0), group.subList(1, group.size())));
    }
    assertEquals(List.copyOf(new TreeMap<>(found).keySet()), List.copyOf(found.keySet()));
    return found;
  }

  private static Map<String, List<String>> unordered(Map<String, List<String>> groups) {
    Map<String, List<String>> sorted = new TreeMap<>();
    groups.forEach((address, messages) -> sorted.put(address, messages.stream().sorted().toList()));
    return sorted;
  }

  private static Map<String, List<String>> unordered(List<List<String>> groups) {
    return unordered(inOrder(groups));
  }
}
