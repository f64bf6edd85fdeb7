package dev.joinery.kernel.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.joinery.kernel.bytes.Address;
import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.BranchMessage;
import dev.joinery.kernel.message.Child;
import dev.joinery.kernel.message.ChildMessage;
import dev.joinery.kernel.message.Message;
import dev.joinery.kernel.message.Outbox;
import dev.joinery.kernel.message.ParentMessage;
import dev.joinery.kernel.program.ValidProgram;
import dev.joinery.kernel.state.MemoryState;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import scala.Tuple2;

/** What parents hear of versions, against plain maps that are looked through as a whole. */
class ValidTest {
  private static final int FOLD = 5;
  private static final int BRANCH = 2;
  private static final Slice VALUE = Slice.of(new byte[] {9});

  /** What a parent's Fold holds of the embed: rows by the keys of versions. */
  private static final class Held {
    long epoch;
    final Map<Slice, Integer> rows = new HashMap<>();
  }

  private final Valid valid = new Valid(new ValidProgram("p/e", 1, FOLD, BRANCH));
  private final MemoryState state = new MemoryState();
  private final Map<Integer, Held> folds = new TreeMap<>();
  private final Map<Integer, Long> parents = new TreeMap<>();
  private final Map<Integer, TreeMap<Long, Integer>> versions = new TreeMap<>();
  private long epoch = 1;
  private int messages;

  private static Slice bytes(int number) {
    return Slice.of(new ByteWriter().writeInt(number).toBytes());
  }

  private byte[] parent(int key, long time) {
    parents.put(key, time);
    Slice told = Slice.of(new ByteWriter().writeLong(time).toBytes());
    return ParentMessage.put(1, ++epoch, bytes(key).toBytes(), told);
  }

  private byte[] parentWent(int key) {
    parents.remove(key);
    folds.remove(key);
    return ParentMessage.remove(1, ++epoch, bytes(key).toBytes());
  }

  /** The messages about versions of a row that differ from what was told before. */
  private List<byte[]> versions(int row, TreeMap<Long, Integer> now) {
    TreeMap<Long, Integer> was = versions.getOrDefault(row, new TreeMap<>());
    List<byte[]> told = new ArrayList<>();
    TreeSet<Long> times = new TreeSet<>(was.keySet());
    times.addAll(now.keySet());
    for (long from : times) {
      Slice key = Slice.of(Versions.identityOf(bytes(row), from));
      Integer value = now.get(from);
      Long until = now.higherKey(from);
      boolean same =
          value != null
              && value.equals(was.get(from))
              && java.util.Objects.equals(until, was.higherKey(from));
      if (value == null) {
        told.add(ChildMessage.remove(1, 0, ++epoch, key));
      } else if (!same) {
        ByteWriter order = new ByteWriter();
        if (until == null) {
          order.writeByte(0);
        } else {
          order.writeByte(1).writeLong(until ^ Long.MIN_VALUE);
        }
        Slice end = Slice.of(order.writeInt(value).toBytes());
        told.add(ChildMessage.put(1, 0, ++epoch, key, 0, end, bytes(value)));
      }
    }
    versions.put(row, now);
    return told;
  }

  private void batch(List<byte[]> told) {
    if (told.isEmpty()) {
      return;
    }
    Outbox outbox = new Outbox();
    valid.handle(VALUE, told, state, outbox);
    while (outbox.hasNext()) {
      Tuple2<byte[], byte[]> each = outbox.next();
      assertEquals(FOLD, Address.nodeOf(each._2()));
      messages++;
      hear(new ByteReader(Address.keyOf(each._2())).readInt(), each._1());
    }
  }

  private void hear(int parent, byte[] message) {
    assertEquals(Message.BRANCH, Message.kind(message));
    BranchMessage.Sections sections = new BranchMessage.Sections(message);
    while (sections.hasNext()) {
      BranchMessage.Section section = sections.next();
      assertEquals(BRANCH, section.branch());
      Held held = folds.computeIfAbsent(parent, each -> new Held());
      if (section.epoch() > held.epoch) {
        held.epoch = section.epoch();
        held.rows.clear();
      }
      ByteReader in = section.body();
      in.readVarLong();
      in.readBlob();
      while (in.hasMore()) {
        boolean put = in.readByte() == 1;
        Slice key = in.readBlob().detach();
        if (put) {
          Child child = Child.read(in.readBlob());
          held.rows.put(key, new ByteReader(child.row()).readInt());
          assertEquals(bytes(held.rows.get(key)), child.order(), "an order without the end");
        } else {
          held.rows.remove(key);
        }
      }
    }
  }

  /** What each parent should hold: of each row the version of its time. */
  private void check() {
    for (Map.Entry<Integer, Long> parent : parents.entrySet()) {
      Map<Slice, Integer> expected = new HashMap<>();
      versions.forEach(
          (row, told) -> {
            Map.Entry<Long, Integer> found = told.floorEntry(parent.getValue());
            if (found != null) {
              Slice key = Slice.of(Versions.identityOf(bytes(row), found.getKey()));
              expected.put(key, found.getValue());
            }
          });
      assertEquals(expected, folds.get(parent.getKey()).rows);
    }
  }

  @Test
  void randomChangesLeaveEachParentWithTheVersionsOfItsTime() {
    for (int seed = 0; seed < 40; seed++) {
      new ValidTest().follow(new Random(seed), 6, 5, 60);
    }
  }

  @Test
  void soDoManyRowsAndManyVersionsWhoseStateIsInPages() {
    for (int seed = 0; seed < 3; seed++) {
      new ValidTest().follow(new Random(seed), 400, 150, 12);
    }
  }

  private void follow(Random random, int most, int rows, int batches) {
    for (int batch = 0; batch < batches; batch++) {
      List<byte[]> told = new ArrayList<>();
      TreeSet<Integer> touched = new TreeSet<>();
      for (int i = random.nextInt(most); i >= 0; i--) {
        int key = random.nextInt(most);
        if (random.nextInt(3) > 0 && touched.add(key)) {
          boolean went = parents.containsKey(key) && random.nextInt(4) == 0;
          told.add(went ? parentWent(key) : parent(key, random.nextInt(200)));
        }
      }
      TreeSet<Integer> changed = new TreeSet<>();
      for (int i = random.nextInt(rows); i >= 0; i--) {
        changed.add(random.nextInt(rows));
      }
      for (int row : changed) {
        TreeMap<Long, Integer> now = new TreeMap<>(versions.getOrDefault(row, new TreeMap<>()));
        for (int i = random.nextInt(4); i >= 0; i--) {
          long from = random.nextInt(200);
          if (random.nextInt(5) == 0) {
            now.remove(from);
          } else {
            now.put(from, random.nextInt(5));
          }
        }
        told.addAll(versions(row, now));
      }
      Collections.shuffle(told, random);
      batch(told);
      check();
    }
  }

  @Test
  void aVersionMeetsTheParentsOfItsTimeAlone() {
    List<byte[]> told = new ArrayList<>();
    for (int key = 0; key < 10_000; key++) {
      told.add(parent(key, key));
    }
    told.addAll(versions(1, new TreeMap<>(Map.of(0L, 1, 5_000L, 2))));
    batch(told);
    check();
    messages = 0;

    batch(versions(1, new TreeMap<>(Map.of(0L, 1, 4_990L, 3, 5_000L, 2))));

    check();
    assertTrue(messages <= 20, () -> messages + " messages for ten parents");
  }
}
