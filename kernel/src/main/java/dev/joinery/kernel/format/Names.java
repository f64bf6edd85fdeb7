package dev.joinery.kernel.format;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Finds the index of an object's names; remembers the order in which names last came, since the
 * records of one relation mostly repeat it.
 */
final class Names {
  private static final int MAX_LEARNED = 256;
  private static final int MOST_UNKNOWN = 16;

  private final Map<String, Integer> indexes = new HashMap<>();
  private byte[][] learned = new byte[16][];
  private int[] learnedIndex = new int[16];
  private final Set<String> unknown = new LinkedHashSet<>();
  private int slot;

  Names(List<String> names) {
    for (int i = 0; i < names.size(); i++) {
      indexes.put(names.get(i), i);
    }
  }

  /** Returns the first names that came and are not known. */
  List<String> unknown() {
    return List.copyOf(unknown);
  }

  /** To be called before an object's first name. */
  void restart() {
    slot = 0;
  }

  /** Returns the index of the name the cursor last read, -1 where it is not known. */
  int find(JsonCursor json) {
    int place = slot++;
    if (place < learned.length) {
      byte[] expected = learned[place];
      if (expected != null
          && !json.nameEscaped
          && Arrays.equals(
              json.bytes, json.nameFrom, json.nameTo, expected, 0, expected.length)) {
        return learnedIndex[place];
      }
    }
    return learn(place, json.name());
  }

  private int learn(int place, byte[] name) {
    String text = new String(name, StandardCharsets.UTF_8);
    int index = indexes.getOrDefault(text, -1);
    if (index < 0 && unknown.size() < MOST_UNKNOWN) {
      unknown.add(text);
    }
    if (place >= learned.length && place < MAX_LEARNED) {
      learned = Arrays.copyOf(learned, 2 * learned.length);
      learnedIndex = Arrays.copyOf(learnedIndex, learned.length);
    }
    if (place < learned.length) {
      learned[place] = name;
      learnedIndex[place] = index;
    }
    return index;
  }
}
