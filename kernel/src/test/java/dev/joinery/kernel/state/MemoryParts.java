package dev.joinery.kernel.state;

import dev.joinery.kernel.bytes.Slice;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Parts under addresses in memory; counts the bytes that are written. */
final class MemoryParts implements PatchedValues.Parts {
  private final Map<Slice, List<Slice>> parts = new TreeMap<>();
  long bytesWritten;

  @Override
  public Iterator<Slice> get(byte[] address) {
    return List.copyOf(parts.getOrDefault(Slice.of(address), List.of())).iterator();
  }

  @Override
  public void put(byte[] address, byte[] part) {
    parts.put(Slice.of(address), new ArrayList<>());
    append(address, part);
  }

  @Override
  public void append(byte[] address, byte[] part) {
    bytesWritten += part.length;
    parts.get(Slice.of(address)).add(Slice.of(part.clone()));
  }

  @Override
  public void remove(byte[] address) {
    parts.remove(Slice.of(address));
  }

  void putAll(MemoryParts other) {
    other.parts.forEach((address, values) -> parts.put(address, new ArrayList<>(values)));
  }

  /** How many addresses have a value. */
  int count() {
    return parts.size();
  }

  List<byte[]> addresses() {
    return parts.keySet().stream().map(Slice::toBytes).toList();
  }

  /** Of all that stands, patches included. */
  long bytes() {
    return parts.values().stream().flatMap(List::stream).mapToLong(Slice::length).sum();
  }
}
