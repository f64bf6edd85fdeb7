package dev.joinery.kernel.chain;

import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.node.Node;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;

/**
 * Remembers the messages that have come to a level in real time until its nodes take them, and says
 * which are next: first those that came in a hurry, then a portion of those that may wait.
 *
 * <p>Invariant: of the messages to one address those of one {@link Node.Turn} keep their order. One
 * that may wait waits for no more messages than had come when the portion before it was taken, nor
 * for more than {@link #MOST_PASSED} that pass through to later levels.
 */
final class Inbox {
  /** How many of those that may wait are taken together. */
  static final int PORTION = 1024;

  /** So many messages to later levels pass through before a portion, however fast they come. */
  static final int MOST_PASSED = 1000;

  private static final long MOST_BYTES = 32L << 20;

  /** What one address is handed together. */
  record Group(byte[] address, List<byte[]> messages) {}

  private final Queue<Group> alone = new ArrayDeque<>();
  private final Map<Slice, List<byte[]>> together = new LinkedHashMap<>();
  private final Map<Slice, Queue<byte[]>> later = new LinkedHashMap<>();
  private final Queue<Group> portions = new ArrayDeque<>();
  private long bytes;
  private int passed;

  void add(byte[] address, byte[] message, Node.Turn turn) {
    bytes += message.length;
    Slice key = Slice.of(address);
    switch (turn) {
      case ALONE -> alone.add(new Group(address, List.of(message)));
      case TOGETHER -> together.computeIfAbsent(key, each -> new ArrayList<>()).add(message);
      case LATER -> later.computeIfAbsent(key, each -> new ArrayDeque<>()).add(message);
    }
  }

  /** Whether it holds so much that no more should be added. */
  boolean isFull() {
    return bytes >= MOST_BYTES;
  }

  boolean anyWaits() {
    return !later.isEmpty() || !portions.isEmpty();
  }

  /** The next of those that may not wait; null where there is none. */
  Group urgent() {
    return taken(!alone.isEmpty() ? alone.poll() : firstTogether());
  }

  private Group firstTogether() {
    Iterator<Map.Entry<Slice, List<byte[]>>> all = together.entrySet().iterator();
    if (!all.hasNext()) {
      return null;
    }
    Map.Entry<Slice, List<byte[]>> first = all.next();
    all.remove();
    return new Group(first.getKey().toBytes(), first.getValue());
  }

  /** Learns that it was given what has come, all of it or up to a message to a later level. */
  void received(boolean all) {
    passed = all ? MOST_PASSED : passed + 1;
  }

  /** Whether those that may wait have their turn once nothing urgent is left. */
  boolean isPortionDue() {
    return passed >= MOST_PASSED;
  }

  /** Some of those that wait at one address; null where none waits. */
  Group portion() {
    passed = 0;
    if (portions.isEmpty()) {
      later.forEach((address, waiting) -> portions.add(new Group(address.toBytes(), some(waiting))));
      later.values().removeIf(Queue::isEmpty);
    }
    return taken(portions.poll());
  }

  private static List<byte[]> some(Queue<byte[]> waiting) {
    List<byte[]> taken = new ArrayList<>();
    while (taken.size() < PORTION && !waiting.isEmpty()) {
      taken.add(waiting.poll());
    }
    return taken;
  }

  private Group taken(Group group) {
    if (group != null) {
      group.messages().forEach(each -> bytes -= each.length);
    }
    return group;
  }
}
