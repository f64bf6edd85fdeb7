package dev.joinery.kernel.door;

import java.util.Arrays;

/** A list of numbers. */
final class Longs {
  private long[] items = {};
  private int size;

  void add(long item) {
    if (size == items.length) {
      items = Arrays.copyOf(items, Math.max(16, size * 2));
    }
    items[size++] = item;
  }

  long get(int at) {
    return items[at];
  }

  /** Returns where an item of an ascending list stands; below 0 where it is none. */
  int find(long item) {
    return Arrays.binarySearch(items, 0, size, item);
  }

  int size() {
    return size;
  }

  void cut(int most) {
    size = Math.min(size, most);
  }

  /** Gives back what no item needs. */
  void trim() {
    items = Arrays.copyOf(items, size);
  }
}
