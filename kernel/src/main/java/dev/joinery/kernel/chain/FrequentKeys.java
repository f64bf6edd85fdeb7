package dev.joinery.kernel.chain;

import dev.joinery.kernel.message.Counters;
import java.util.Arrays;
import java.util.HexFormat;

/**
 * The addresses of one node that had the most messages in one task: remembers a few with their
 * counts, all messages, and the most that any other address had.
 *
 * <p>It is a frequent-items summary after Misra and Gries ("Finding repeated elements", Science of
 * Computer Programming 2, 1982), and summaries of tasks and of batches are added as Agarwal and
 * others show ("Mergeable summaries", PODS 2012). A level brings all messages of an address
 * together, so that a task offers each address once: within a task counts are exact, and nothing
 * has to be taken off them for an address that is left out. Who adds summaries adds up what each
 * left out: by so much at most may a sum be too low.
 */
final class FrequentKeys {
  /** How many addresses are remembered. */
  static final int MOST = 16;

  /** Fewer messages than this in a task are told of no address. */
  static final long LEAST = 8;

  /** Nor is less than this part of all messages. */
  static final long PART = 50;

  /** How much of an address is told; it begins with a hash of all of it. */
  static final int BYTES = 200;

  private static final String MESSAGES = "messages";
  private static final HexFormat HEX = HexFormat.of();

  private final byte[][] addresses = new byte[MOST][];
  private final long[] counts = new long[MOST];
  private int size;
  private int least;
  private long total;
  private long leftOut;

  /** Takes an address that was not offered before, and its messages: those that came, and went. */
  void offer(byte[] address, long messages) {
    total += messages;
    if (size < MOST) {
      put(size++, address, messages);
    } else if (messages > counts[least]) {
      leftOut = Math.max(leftOut, counts[least]);
      put(least, address, messages);
    } else {
      leftOut = Math.max(leftOut, messages);
    }
  }

  private void put(int place, byte[] address, long messages) {
    addresses[place] = address;
    counts[place] = messages;
    least = 0;
    for (int i = 1; i < size; i++) {
      if (counts[i] < counts[least]) {
        least = i;
      }
    }
  }

  /** Counts what is remembered, as of this node, and starts again from nothing. */
  void tell(String node, Counters counters) {
    if (total == 0) {
      return;
    }
    long enough = Math.max(LEAST, total / PART);
    for (int i = 0; i < size; i++) {
      if (counts[i] >= enough) {
        counters.add(Counters.KEYS, node, codeOf(addresses[i]), counts[i]);
      } else {
        leftOut = Math.max(leftOut, counts[i]);
      }
    }
    counters.add(Counters.NODES, node, MESSAGES, total);
    counters.add(Counters.LEFT_OUT, node, MESSAGES, leftOut);
    clear();
  }

  private static String codeOf(byte[] address) {
    return HEX.formatHex(address, 0, Math.min(BYTES, address.length));
  }

  private void clear() {
    Arrays.fill(addresses, null);
    size = 0;
    total = 0;
    leftOut = 0;
  }
}
