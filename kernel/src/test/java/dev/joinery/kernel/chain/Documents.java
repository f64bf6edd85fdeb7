package dev.joinery.kernel.chain;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;

/** Documents by key, as a batch should send them and as it did. */
final class Documents {
  private Documents() {}

  /** Returns those that differ; those that went are null. */
  static Map<String, String> difference(Map<String, String> before, Map<String, String> after) {
    Map<String, String> changed = new TreeMap<>();
    before.keySet().forEach(each -> changed.put(each, after.get(each)));
    changed.putAll(after);
    changed.entrySet().removeIf(each -> Objects.equals(each.getValue(), before.get(each.getKey())));
    return changed;
  }

  /** Returns what was sent, each key once. */
  static Map<String, String> sent(List<Emission> emissions) {
    Map<String, String> sent = new TreeMap<>();
    emissions.forEach(each -> sent.put(each.key(), each.value()));
    assertEquals(emissions.size(), sent.size());
    return sent;
  }
}
