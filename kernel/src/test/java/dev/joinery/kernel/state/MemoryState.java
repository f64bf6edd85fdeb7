package dev.joinery.kernel.state;

import dev.joinery.kernel.bytes.Slice;
import java.util.TreeSet;
import java.util.function.Supplier;

/** The state of one address in memory; counts what is asked of it, and what is stored for it. */
public final class MemoryState implements State {
  private static final byte[] NOWHERE = new byte[8];

  private final byte[] address;
  private final Supplier<Expiry> expiry;
  private final Supplier<Expiry> windows;
  private final MemoryParts parts = new MemoryParts();
  private final AddressValues values;
  public final TreeSet<Long> wakes = new TreeSet<>();

  /** Of the one relation, before the batch. */
  public long watermark = Long.MIN_VALUE;

  int valueWrites;
  public int pageReads;
  public int pageWrites;
  int pageRemoves;

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
    this.values =
        new AddressValues(new PatchedValues(parts), address == null ? NOWHERE : address);
  }

  public void resetCounts() {
    valueWrites = 0;
    pageReads = 0;
    pageWrites = 0;
    pageRemoves = 0;
    parts.bytesWritten = 0;
  }

  public MemoryState copy() {
    MemoryState copy = new MemoryState(address, expiry, windows);
    copy.parts.putAll(parts);
    copy.wakes.addAll(wakes);
    copy.watermark = watermark;
    return copy;
  }

  public int pageCount() {
    return parts.count() - (values.read() == null ? 0 : 1);
  }

  public boolean isEmpty() {
    return parts.count() == 0;
  }

  /** Of the value and all pages. */
  public long allBytes() {
    PatchedValues all = new PatchedValues(parts);
    return parts.addresses().stream().mapToLong(each -> all.read(each).value().length).sum();
  }

  /** What was stored, which is less than the values where they changed in parts. */
  public long bytesWritten() {
    return parts.bytesWritten;
  }

  public int valueBytes() {
    byte[] value = values.read();
    return value == null ? 0 : value.length;
  }

  @Override
  public byte[] read() {
    byte[] value = values.read();
    return value == null ? null : value.clone();
  }

  @Override
  public void write(byte[] bytes) {
    valueWrites++;
    values.write(bytes.clone());
  }

  @Override
  public void clear() {
    values.clear();
  }

  @Override
  public byte[] get(int page) {
    pageReads++;
    byte[] bytes = values.get(page);
    return bytes == null ? null : bytes.clone();
  }

  @Override
  public void put(int page, byte[] bytes) {
    pageWrites++;
    values.put(page, bytes.clone());
  }

  @Override
  public void remove(int page) {
    pageRemoves++;
    values.remove(page);
  }

  @Override
  public void forget(long number) {
    clear();
    expiry.get().forgotten(number);
    windows.get().forgotten(number); // One of the two is at work, and writes it down.
  }

  @Override
  public long highestForgotten() {
    return Math.max(expiry.get().highest(), windows.get().highest());
  }

  @Override
  public long highestForgottenBefore() {
    return Math.max(expiry.get().highestBefore(), windows.get().highestBefore());
  }

  @Override
  public long watermark(int relation) {
    return watermark;
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
  public void expireAfter(long timestamp, long spanMicros, Slice entry) {
    expiry.get().note(address, entry, timestamp, spanMicros);
  }

  @Override
  public void wakeAt(long timestamp) {
    wakes.add(timestamp);
  }
}
