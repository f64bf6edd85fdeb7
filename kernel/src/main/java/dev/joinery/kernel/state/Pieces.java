package dev.joinery.kernel.state;

import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.Slice;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * A value as pieces of a whole one and of the patches behind it, put together once: many patches
 * of a large value take little more than the value to read.
 */
final class Pieces {
  private final List<Slice> sources = new ArrayList<>();
  private Table pieces = new Table();
  private Table spare = new Table();

  /** Runs of bytes of sources, by their numbers, one behind the other. */
  private static final class Table {
    private int count;
    private int[] source = new int[16];
    private int[] from = new int[16];
    /** Where a run ends in the value. */
    private int[] ends = new int[16];

    int length() {
      return count == 0 ? 0 : ends[count - 1];
    }

    private int startOf(int piece) {
      return piece == 0 ? 0 : ends[piece - 1];
    }

    void add(int of, int start, int length) {
      if (length == 0) {
        return;
      }
      int end = length() + length;
      int last = count - 1;
      if (last >= 0 && source[last] == of && from[last] + ends[last] - startOf(last) == start) {
        ends[last] = end;
        return;
      }
      if (count == source.length) {
        source = Arrays.copyOf(source, count * 2);
        from = Arrays.copyOf(from, count * 2);
        ends = Arrays.copyOf(ends, count * 2);
      }
      source[count] = of;
      from[count] = start;
      ends[count++] = end;
    }

    /** Adds what stands at a place of another value. */
    void addFrom(Table other, int start, int length) {
      int end = start + length;
      int at = start;
      for (int i = other.pieceAt(start); at < end; i++) {
        int to = Math.min(end, other.ends[i]);
        add(other.source[i], other.from[i] + at - other.startOf(i), to - at);
        at = to;
      }
    }

    private int pieceAt(int place) {
      int found = Arrays.binarySearch(ends, 0, count, place);
      return found >= 0 ? found + 1 : -found - 1;
    }
  }

  Pieces(Slice whole) {
    sources.add(whole);
    pieces.add(0, 0, whole.length());
  }

  /** How many patches were applied. */
  int patches() {
    return sources.size() - 1;
  }

  /** Applies a patch, as {@link Patch} writes it. */
  void apply(Slice patch) {
    ByteReader in = new ByteReader(patch);
    int number = in.readByte();
    int before = in.readVarInt();
    if (number != patches() || before != pieces.length()) {
      throw new IllegalStateException("a patch of state that belongs to another value");
    }
    int length = in.readVarInt();
    Table old = pieces;
    pieces = spare;
    spare = old;
    pieces.count = 0;
    while (pieces.length() < length) {
      Slice fresh = in.readBlob();
      pieces.add(sources.size(), fresh.offset() - patch.offset(), fresh.length());
      if (pieces.length() < length) {
        int start = in.readVarInt();
        pieces.addFrom(old, start, in.readVarInt());
      }
    }
    sources.add(patch);
  }

  byte[] toBytes() {
    if (patches() == 0) {
      return sources.get(0).toBytes();
    }
    byte[] bytes = new byte[pieces.length()];
    for (int i = 0; i < pieces.count; i++) {
      Slice of = sources.get(pieces.source[i]);
      int start = pieces.startOf(i);
      int length = pieces.ends[i] - start;
      System.arraycopy(of.array(), of.offset() + pieces.from[i], bytes, start, length);
    }
    return bytes;
  }
}
