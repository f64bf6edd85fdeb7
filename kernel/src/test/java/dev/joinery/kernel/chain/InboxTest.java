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

class InboxTest {
  private final Inbox inbox = new Inbox();

  @Test
  void whatCameToAnAddressIsHandedOverTogetherAndTheRestByItself() {
    add("a", "1", Turn.TOGETHER);
    add("b", "2", Turn.ALONE);
    add("b", "3", Turn.ALONE);
    add("c", "4", Turn.TOGETHER);
    add("a", "5", Turn.TOGETHER);

    assertEquals(List.of("b: 2", "b: 3", "a: 1 5", "c: 4"), urgent());
    assertFalse(inbox.anyWaits());
  }

  @Test
  void messagesThatMayWaitAreTakenInPortionsFromAllAddressesInTurn() {
    for (int i = 0; i <= Inbox.PORTION; i++) {
      add("a", "" + i, Turn.LATER);
      add("b", "" + i, Turn.LATER);
    }

    assertNull(inbox.urgent());
    assertEquals(Inbox.PORTION, inbox.portion().messages().size());
    assertEquals(Inbox.PORTION, inbox.portion().messages().size());
    assertEquals("a: " + Inbox.PORTION, text(inbox.portion()));
    assertTrue(inbox.anyWaits());
    assertEquals("b: " + Inbox.PORTION, text(inbox.portion()));
    assertFalse(inbox.anyWaits());
    assertNull(inbox.portion());
  }

  @Test
  void aPortionIsDueOnceAllThatCameIsThereOrEnoughHasPassed() {
    inbox.received(false);
    assertFalse(inbox.isPortionDue());

    inbox.received(true);
    assertTrue(inbox.isPortionDue());
    inbox.portion();
    assertFalse(inbox.isPortionDue());

    for (int i = 0; i < Inbox.MOST_PASSED; i++) {
      inbox.received(false);
    }
    assertTrue(inbox.isPortionDue());
  }

  @Test
  void itIsFullUntilMessagesAreTaken() {
    inbox.add(bytes("a"), new byte[40 << 20], Turn.LATER);
    assertTrue(inbox.isFull());

    inbox.portion();

    assertFalse(inbox.isFull());
  }

  private void add(String address, String message, Turn turn) {
    inbox.add(bytes(address), bytes(message), turn);
  }

  private List<String> urgent() {
    List<String> found = new ArrayList<>();
    for (Inbox.Group each = inbox.urgent(); each != null; each = inbox.urgent()) {
      found.add(text(each));
    }
    return found;
  }

  private static String text(Inbox.Group group) {
    List<String> messages = group.messages().stream().map(InboxTest::text).toList();
    return text(group.address()) + ": " + String.join(" ", messages);
  }

  private static String text(byte[] bytes) {
    return new String(bytes, StandardCharsets.UTF_8);
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }
}
