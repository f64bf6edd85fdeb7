package dev.joinery.kernel.state;

import dev.joinery.kernel.bytes.Slice;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Supplier;

/** The state of one address in memory; counts what is asked of it. */
public final class MemoryState implements State {
  private final byte[] address;
  private final Supplier<Expiry> expiry;
  private final Supplier<Expiry> windows;
  private byte[] value;
  private final Map<Integer, byte[]> pages = new TreeMap<>();
  public final TreeSet<Long> wakes = new TreeSet<>();
  int valueWrites;
  public int pageReads;
  public int pageWrites;
  int pageRemoves;
  public long bytesWritten;

  /** State that nobody is asked to forget. */
  public MemoryState() {
    this(null, null, null);
  }

  public MemoryState(byte[] address, Supplier<Expiry> expiry) {
    this(address, expiry, expiry);
  }

  /** {@code windows} is what is forgotten by the watermark of the one relation. */
  public MemoryState(byte[] address, Supplier<Expiry> expiry, Supplier<Expiry> windows) {
    this.address = address;
    this.expiry = expiry;
    this.windows = windows;
  }

  public void resetCounts() {
    valueWrites = 0;
    pageReads = 0;
    pageWrites = 0;
    pageRemoves = 0;
    bytesWritten = 0;
  }

  public MemoryState copy() {
    MemoryState copy = new MemoryState(address, expiry, windows);
    copy.value = value;
    copy.pages.putAll(pages);
    copy.wakes.addAll(wakes);
    return copy;
  }

  public int pageCount() {
    return pages.size();
  }

  public boolean isEmpty() {
    return value == null && pages.isEmpty();
  }

  public long allBytes() {
    return valueBytes() + pages.values().stream().mapToLong(each -> each.length).sum();
  }

  public int valueBytes() {
    return value == null ? 0 : value.length;
  }

  @Override
  public byte[] read() {
    return value == null ? null : value.clone();
  }

  @Override
  public void write(byte[] bytes) {
    valueWrites++;
    bytesWritten += bytes.length;
    value = bytes.clone();
  }

  @Override
  public void clear() {
    value = null;
  }

  @Override
  public byte[] get(int page) {
    pageReads++;
    byte[] bytes = pages.get(page);
    return bytes == null ? null : bytes.clone();
  }

  @Override
  public void put(int page, byte[] bytes) {
    pageWrites++;
    bytesWritten += bytes.length;
    pages.put(page, bytes.clone());
  }

  @Override
  public void remove(int page) {
    pageRemoves++;
    pages.remove(page);
  }

  @Override
  public void forget(long number) {
    clear();
    expiry.get().forgotten(number);
  }

  @Override
  public long highestForgotten() {
    return Math.max(expiry.get().highest(), windows.get().highest());
  }

  @Override
  public void expireAtWatermark(int relation, long time, Slice entry) {
    windows.get().noteLater(address, entry, time);
  }

  @Override
  public void expireAfter(long timestamp, Slice entry) {
    expiry.get().note(address, entry, timestamp);
  }

  @Override
  public void wakeAt(long timestamp) {
    wakes.add(timestamp);
  }
}
