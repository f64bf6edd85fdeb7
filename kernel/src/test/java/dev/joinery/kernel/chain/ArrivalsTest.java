package dev.joinery.kernel.chain;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.joinery.kernel.node.Node.Turn;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class ArrivalsTest {
  private final Arrivals arrivals = new Arrivals();

  @Test
  void whatCameToAnAddressIsHandedOverTogetherAndTheRestByItself() {
    add("a", "1", Turn.TOGETHER);
    add("b", "2", Turn.ALONE);
    add("b", "3", Turn.ALONE);
    add("c", "4", Turn.TOGETHER);
    add("a", "5", Turn.TOGETHER);

    assertEquals(List.of("b: 2", "b: 3", "a: 1 5", "c: 4"), urgent());
    assertFalse(arrivals.anyWaits());
  }

  @Test
  void messagesThatMayWaitAreTakenInPortionsFromAllAddressesInTurn() {
    for (int i = 0; i <= Arrivals.PORTION; i++) {
      add("a", "" + i, Turn.LATER);
      add("b", "" + i, Turn.LATER);
    }

    assertNull(arrivals.urgent());
    assertEquals(Arrivals.PORTION, arrivals.portion().messages().size());
    assertEquals(Arrivals.PORTION, arrivals.portion().messages().size());
    assertEquals("a: " + Arrivals.PORTION, text(arrivals.portion()));
    assertTrue(arrivals.anyWaits());
    assertEquals("b: " + Arrivals.PORTION, text(arrivals.portion()));
    assertFalse(arrivals.anyWaits());
    assertNull(arrivals.portion());
  }

  @Test
  void itIsFullUntilMessagesAreTaken() {
    arrivals.add(bytes("a"), new byte[40 << 20], Turn.LATER);
    assertTrue(arrivals.isFull());

    arrivals.portion();

    assertFalse(arrivals.isFull());
  }

  private void add(String address, String message, Turn turn) {
    arrivals.add(bytes(address), bytes(message), turn);
  }

  private List<String> urgent() {
    List<String> found = new ArrayList<>();
    for (Arrivals.Group each = arrivals.urgent(); each != null; each = arrivals.urgent()) {
      found.add(text(each));
    }
    return found;
  }

  private static String text(Arrivals.Group group) {
    List<String> messages = group.messages().stream().map(ArrivalsTest::text).toList();
    return text(group.address()) + ": " + String.join(" ", messages);
  }

  private static String text(byte[] bytes) {
    return new String(bytes, StandardCharsets.UTF_8);
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }
}
