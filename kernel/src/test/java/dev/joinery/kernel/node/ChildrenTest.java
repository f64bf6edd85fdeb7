package dev.joinery.kernel.node;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.joinery.kernel.bytes.BinaryRow;
import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.Child;
import dev.joinery.kernel.message.ChildMessage;
import dev.joinery.kernel.message.Message;
import dev.joinery.kernel.state.MemoryState;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;

/** Children as a list, in pages, and on the way from the one to the other. */
class ChildrenTest {
  private static final StructType ROW = StructType.fromDDL("id bigint, text string");

  private final MemoryState state = new MemoryState();
  private final UnsafeProjection rows = UnsafeProjection.create(ROW);
  private final Map<Slice, Child> expected = new HashMap<>();

  private Slice row(long id, String text) {
    return BinaryRow.copy(
        rows.apply(new GenericInternalRow(new Object[] {id, UTF8String.fromString(text)})));
  }

  private static Slice key(long id) {
    return Slice.of(new ByteWriter(8).writeLong(id).toBytes());
  }

  private Children open() {
    byte[] stored = state.read();
    Children children = new Children(3, true);
    children.read(stored == null ? null : new ByteReader(stored), state);
    return children;
  }

  private void close(Children children) {
    ByteWriter out = new ByteWriter(1024);
    children.write(out);
    state.write(out.toBytes());
  }

  private void change(Children children, Map<Slice, Child> changes) {
    changes.forEach(children::change);
    children.settle();
    changes.forEach(
        (key, child) -> {
          if (child == null) {
            expected.remove(key);
          } else {
            expected.put(key, child);
          }
        });
  }

  private void check(Children children) {
    List<TopRows.Item> inOrder = new ArrayList<>();
    expected.forEach((key, child) -> inOrder.add(new TopRows.Item(key, child)));
    inOrder.sort(null);
    List<Slice> keys = new ArrayList<>();
    List<Slice> found = new ArrayList<>();
    children.forEach(
        (key, row) -> {
          keys.add(key);
          found.add(row);
        });
    assertEquals(inOrder.stream().map(TopRows.Item::key).toList(), keys);
    assertEquals(inOrder.stream().map(each -> each.child().row()).toList(), found);
    assertEquals(expected.size(), children.size());
    assertEquals(found.stream().mapToLong(Slice::length).sum(), children.rowBytes());
    boolean failed = expected.values().stream().anyMatch(each -> each.flags() != 0);
    assertEquals(failed ? Message.FLAG_FAILED : 0, children.flags());
  }

  @Test
  void randomHistoriesKeepTheirOrderAsAListAndInPages() {
    for (int seed = 0; seed < 12; seed++) {
      Random random = new Random(seed);
      boolean ordered = seed % 2 == 0;
      expected.clear();
      state.clear();
      boolean paged = false;
      boolean back = false;
      for (int batch = 0; batch < 120; batch++) {
        Children children = open();
        back |= paged && !children.isPaged();
        paged |= children.isPaged();
        boolean shrinks = batch % 40 > 25;
        Map<Slice, Child> changes = new LinkedHashMap<>();
        for (int i = random.nextInt(batch % 7 == 0 ? 400 : 5); i >= 0; i--) {
          long id = random.nextInt(600);
          boolean goes = shrinks || random.nextInt(4) == 0;
          changes.put(key(id), goes ? null : child(id, ordered, random));
        }
        if (batch % 40 == 39) {
          expected.keySet().forEach(key -> changes.put(key, null));
        }
        change(children, changes);
        check(children);
        close(children);
        check(open());
      }
      assertTrue(paged && back, "in pages, and as a list again");
      Children children = open();
      children.clear();
      close(children);
      assertEquals(0, state.pageCount(), "no page is left");
    }
  }

  private Child child(long id, boolean ordered, Random random) {
    Slice order = ordered ? Slice.of(new byte[] {1, (byte) random.nextInt(40)}) : Slice.EMPTY;
    int flags = random.nextInt(200) == 0 ? Message.FLAG_FAILED : 0;
    return Child.of(random.nextInt(9), flags, order, row(id, "x".repeat(random.nextInt(900))));
  }

  private Children many(int count) {
    Children children = open();
    Map<Slice, Child> changes = new LinkedHashMap<>();
    for (long id = 0; id < count; id++) {
      Slice order = key(id * 7919 % count);
      changes.put(key(id), Child.of(5, 0, order, row(id, "a text of some length")));
    }
    change(children, changes);
    close(children);
    return children;
  }

  @Test
  void oneMoreOneMovedAndOneLessOfManyTouchAFewPages() {
    many(50_000);
    assertTrue(state.pageCount() > 200);
    for (int i = 0; i < 20; i++) {
      state.resetCounts();
      Children children = open();
      assertTrue(children.isPaged());
      Map<Slice, Child> changes = new LinkedHashMap<>();
      changes.put(key(100_000 + i), Child.of(6, 0, key(25_000), row(i, "one more")));
      changes.put(key(i), Child.of(6, 0, key(40_000), row(i, "one that moves")));
      changes.put(key(30_000 + i), null);
      change(children, changes);
      close(children);

      assertTrue(state.pageReads <= 12, state.pageReads + " pages read");
      assertTrue(state.pageWrites <= 12, state.pageWrites + " pages written");
      assertTrue(i == 0 || state.bytesWritten() < 60_000, state.bytesWritten() + " bytes written");
    }
    check(open());
  }

  @Test
  void aLateMessageIsDroppedAlsoAboutAChildInPages() {
    many(5_000);
    Children children = open();
    assertTrue(children.isPaged());
    Map<Slice, ChildMessage> newest = new HashMap<>();
    newest.put(key(1), new ChildMessage(0, 4, key(1), true, null));
    newest.put(key(2), new ChildMessage(0, 5, key(2), true, null));
    newest.put(key(9_999), new ChildMessage(0, 1, key(9_999), true, null));

    children.dropLate(newest);

    assertFalse(newest.containsKey(key(1)), "a child of epoch 5 is newer");
    assertEquals(2, newest.size());
  }

  @Test
  void aBatchOfManyMessagesReadsEachPageOnceToFindTheLate() {
    int count = 120_000;
    many(count);
    assertTrue(state.pageCount() > 600, "more than are held at once");
    Children children = open();
    Map<Slice, ChildMessage> newest = new LinkedHashMap<>();
    for (long i = 0; i < count; i++) {
      long id = i * 65_537 % count;
      newest.put(key(id), new ChildMessage(0, 4 + (int) (id % 2) * 2, key(id), true, null));
    }
    state.resetCounts();

    children.dropLate(newest);

    assertEquals(count / 2, newest.size());
    assertTrue(newest.values().stream().allMatch(each -> each.epoch() == 6));
    assertTrue(state.pageReads <= state.pageCount(), state.pageReads + " pages read");
  }

  @Test
  void rowsPutTogetherAreTheArrayThatSparkMakesOfThem() {
    StructType type = new StructType().add("rows", new ArrayType(ROW, false));
    RowArray array = new RowArray();
    for (int count : new int[] {0, 1, 63, 64, 65, 300, 2}) {
      Object[] values = new Object[count];
      List<Slice> bytes = new ArrayList<>();
      for (int i = 0; i < count; i++) {
        bytes.add(row(i, "x".repeat(i)));
        values[i] = BinaryRow.of(bytes.get(i), 2);
      }
      array.begin(count, bytes.stream().mapToLong(Slice::length).sum());
      bytes.forEach(array::add);
      InternalRow slow = new GenericInternalRow(new Object[] {new GenericArrayData(values)});
      InternalRow fast = new GenericInternalRow(new Object[] {array.array()});
      DataType[] types = {type.fields()[0].dataType()};

      assertArrayEquals(
          BinaryRow.copy(UnsafeProjection.create(types).apply(slow)).toBytes(),
          BinaryRow.copy(UnsafeProjection.create(types).apply(fast)).toBytes());
    }
  }
}
