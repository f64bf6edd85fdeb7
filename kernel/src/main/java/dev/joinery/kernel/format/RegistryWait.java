package dev.joinery.kernel.format;

import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** A wait for a schema registry: why, how often it was asked, and since when, until it is closed. */
public final class RegistryWait implements AutoCloseable {
  private static final Set<RegistryWait> OPEN = ConcurrentHashMap.newKeySet();

  private final List<String> urls;
  private final long sinceMillis = System.currentTimeMillis();
  private volatile String reason;
  private volatile int attempts;

  RegistryWait(List<String> urls) {
    this.urls = urls;
  }

  /**
   * Returns what the tasks of this process wait for now, by the addresses of a registry: {@code
   * {"reason", "attempts", "since"}}, the last in milliseconds since 1970; of several waits for one
   * the longest.
   */
  public static Map<String, Map<String, Object>> open() {
    Map<String, Map<String, Object>> told = new LinkedHashMap<>();
    OPEN.stream()
        .sorted(Comparator.comparingLong(each -> each.sinceMillis))
        .forEach(each -> told.putIfAbsent(String.join(", ", each.urls), each.told()));
    return told;
  }

  private Map<String, Object> told() {
    return Map.of("reason", reason, "attempts", attempts, "since", sinceMillis);
  }

  /** Notes one more failure; the first begins the wait. */
  void failed(String why) {
    reason = why;
    attempts++;
    OPEN.add(this);
  }

  @Override
  public void close() {
    OPEN.remove(this);
  }
}
