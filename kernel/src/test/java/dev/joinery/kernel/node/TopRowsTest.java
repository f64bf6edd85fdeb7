package dev.joinery.kernel.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.Child;
import dev.joinery.kernel.state.EntryMap;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

class TopRowsTest {
  private static Slice bytes(int number) {
    return Slice.of(new ByteWriter().writeInt(number).toBytes());
  }

  private static Child child(int order) {
    return Child.of(1, 0, bytes(order), bytes(order));
  }

  private static Iterator<EntryMap.Entry> entries(Map<Slice, Child> children) {
    return children.entrySet().stream()
        .map(each -> new EntryMap.Entry(each.getKey(), each.getValue().encoded()))
        .iterator();
  }

  private static List<TopRows.Item> first(Map<Slice, Child> children, int limit) {
    List<TopRows.Item> items = new ArrayList<>();
    children.forEach((key, child) -> items.add(new TopRows.Item(key, child)));
    return items.stream().sorted().limit(limit).toList();
  }

  private static TopRows reopen(TopRows window, int limit) {
    ByteWriter out = new ByteWriter();
    window.write(out);
    TopRows again = new TopRows(limit);
    again.read(new ByteReader(out.toBytes()));
    return again;
  }

  @Test
  void randomChangesLeaveTheFirstOfASortedList() {
    for (int seed = 0; seed < 60; seed++) {
      follow(seed);
    }
  }

  private static void follow(int seed) {
    Random random = new Random(seed);
    int limit = 1 + random.nextInt(6);
    Map<Slice, Child> children = new TreeMap<>();
    TopRows window = new TopRows(limit);
    int refills = 0;
    for (int step = 0; step < 1_500; step++) {
      boolean grow = step / 300 % 2 == 0;
      boolean leaves = random.nextInt(10) < (grow ? 1 : 9);
      Slice key =
          leaves && !window.kept().isEmpty()
              ? window.kept().get(0).key()
              : bytes(random.nextInt(150));
      Child after = leaves ? null : child(random.nextInt(40));
      Child before = after == null ? children.remove(key) : children.put(key, after);
      window.follow(key, before, after);
      if (window.isShort(children.size())) {
        window.fill(entries(children));
        refills++;
      }
      if (random.nextInt(5) == 0) {
        window = reopen(window, limit);
      }
      assertEquals(first(children, limit), window.kept(), "seed " + seed + ", step " + step);
    }
    assertTrue(refills > 0, "the window was never short");
    assertTrue(refills < 60, "the window was filled again " + refills + " times");
  }

  @Test
  void aWindowWithoutLimitRemembersNothing() {
    TopRows window = new TopRows(0);

    window.follow(bytes(1), null, child(1));

    assertFalse(window.isLimited());
    assertFalse(window.isShort(1));
    assertEquals(List.of(), window.kept());
  }

  @Test
  void oneThatLeavesIsReplacedWithoutALookAtAllOthers() {
    Map<Slice, Child> children = new TreeMap<>();
    for (int i = 0; i < 1_000; i++) {
      children.put(bytes(i), child(i));
    }
    TopRows window = new TopRows(10);
    window.fill(entries(children));

    for (int i = 0; i < 42; i++) {
      Child gone = children.remove(bytes(i));
      window.follow(bytes(i), gone, null);
      assertEquals(i > 41, window.isShort(children.size()));
    }

    assertEquals(first(children, 10), window.kept());
  }

  @Test
  void anEmptiedWindowTakesTheNextChild() {
    TopRows window = new TopRows(1);
    Map<Slice, Child> children = new TreeMap<>();
    for (int i = 0; i < 100; i++) {
      children.put(bytes(i), child(i));
    }
    window.fill(entries(children));
    children.forEach((key, child) -> window.follow(key, child, null));
    children.clear();
    children.put(bytes(5), child(5));
    window.follow(bytes(5), null, child(5));

    assertTrue(window.isShort(1));
    window.fill(entries(children));

    assertEquals(first(children, 1), window.kept());
  }
}
