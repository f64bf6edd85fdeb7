package dev.joinery.kernel.message;

import dev.joinery.kernel.bytes.Hash;
import java.nio.charset.StandardCharsets;

/**
 * How a partition of a relation's log is called and numbered: by its own number, of a relation of
 * several topics with the topic before it.
 */
public final class LogPartition {
  private static final char SLASH = '/';

  private LogPartition() {}

  /** The name of a partition of one of several topics. */
  public static String name(String topic, long partition) {
    return topic + SLASH + partition;
  }

  /** The number of such a partition: above all plain ones, so newer than what those kept. */
  public static long number(String topic, long partition) {
    byte[] bytes = topic.getBytes(StandardCharsets.UTF_8);
    long hash = Hash.of(bytes, 0, bytes.length) & 0x7fffffffL;
    return hash + 1 << 32 | partition;
  }

  /** The number of a partition of that name. */
  public static long numberOf(String name) {
    int slash = name.lastIndexOf(SLASH);
    long partition = Long.parseLong(name.substring(slash + 1));
    return slash < 0 ? partition : number(name.substring(0, slash), partition);
  }
}
