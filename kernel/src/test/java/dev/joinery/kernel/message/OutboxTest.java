package dev.joinery.kernel.message;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.joinery.kernel.bytes.Address;
import dev.joinery.kernel.bytes.Slice;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Set;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class OutboxTest {
  private static final byte[] KEY = {1, 2, 3};

  private static byte[] message(int number) {
    return new byte[] {(byte) number};
  }

  @Test
  void anAddressTellsItsNodeAndItsKey() {
    for (int node : new int[] {0, 1, 126, 127, 20_000}) {
      byte[] address = Address.of(node, KEY);

      assertEquals(node, Address.nodeOf(address));
      assertEquals(Slice.of(KEY), Address.keyOf(address));
    }
  }

  @Test
  void oneKeyHasAnAddressForEachNode() {
    assertFalse(java.util.Arrays.equals(Address.of(0, KEY), Address.of(1, KEY)));
    assertArrayEquals(Address.of(1, KEY), Address.of(1, KEY.clone()));
  }

  @Test
  void aPageOfAnAddressStandsWhereNoNodeAndNoOtherPageDoes() {
    byte[] address = Address.of(1, KEY);
    byte[] page = Address.ofPage(address, 7);

    assertEquals(-1, Address.nodeOf(page));
    assertFalse(java.util.Arrays.equals(page, Address.ofPage(address, 8)));
    assertFalse(
        java.util.Arrays.equals(page, Address.ofPage(Address.of(2, KEY), 7)));
  }

  @Test
  void whatLeavesTheChainIsNoNodesAndIsSpread() {
    Outbox outbox = new Outbox();
    for (int i = 0; i < 100; i++) {
      outbox.emit(message(i));
    }

    Set<Slice> addresses = new HashSet<>();
    outbox.forEachRemaining(
        each -> {
          assertEquals(-1, Address.nodeOf(each._2()));
          addresses.add(Slice.of(each._2()));
        });

    assertEquals(100, addresses.size());
  }

  @Test
  void whatLeavesTheChainAtManyAddressesIsSpreadThoughEachSendsOneMessage() {
    Set<Slice> addresses = new HashSet<>();
    for (byte key = 0; key < 100; key++) {
      Outbox outbox = Outbox.at(Address.of(1, new byte[] {key}));
      outbox.emit(message(key));
      addresses.add(Slice.of(outbox.next()._2()));
    }

    assertEquals(100, addresses.size());
  }

  @Test
  void aStepRunsOnlyWhenAllMessagesBeforeItWereTaken() {
    Outbox outbox = new Outbox();
    List<Integer> ran = new ArrayList<>();
    outbox.send(0, KEY, message(0));
    Iterator<Runnable> steps =
        IntStream.range(1, 4)
            .<Runnable>mapToObj(
                each ->
                    () -> {
                      ran.add(each);
                      outbox.send(0, KEY, message(each));
                    })
            .iterator();
    outbox.later(steps);

    assertTrue(outbox.isLazy());
    assertArrayEquals(message(0), outbox.next()._1());
    assertEquals(List.of(), ran);
    assertArrayEquals(message(1), outbox.next()._1());
    assertEquals(List.of(1), ran);
    assertArrayEquals(message(2), outbox.next()._1());
    assertArrayEquals(message(3), outbox.next()._1());
    assertFalse(outbox.hasNext());
    assertThrows(NoSuchElementException.class, outbox::next);
  }

  @Test
  void stepsThatSendNothingArePassedOver() {
    Outbox outbox = new Outbox();
    outbox.later(List.<Runnable>of(() -> {}, () -> {}, () -> outbox.emit(message(1))).iterator());

    assertTrue(outbox.hasNext());
    assertArrayEquals(message(1), outbox.next()._1());
  }
}
