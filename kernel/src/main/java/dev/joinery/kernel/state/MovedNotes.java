package dev.joinery.kernel.state;

import dev.joinery.kernel.bytes.Address;
import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.BiConsumer;

/**
 * Notes of what may be forgotten, in another number of partitions: takes the lists of {@link Expiry}
 * apart, so that each note can go where the state is that it tells of, and puts those that came to
 * one partition together to lists and heads of its own. Remembers, of each period, the list that is
 * not full yet.
 *
 * <p>A note that comes twice is told twice, which alters nothing.
 */
public final class MovedNotes {
  private static final int NOTE_BYTES = 64;

  private final Map<Integer, Lists> kinds = new HashMap<>();

  /** A note, as a list of its own, and the address that it tells of. */
  public record Note(byte[] owner, byte[] list) {}

  /** Whether an address, which is one of notes, is that of a head: each partition has one. */
  public static boolean isHead(byte[] address) {
    return Address.keyOf(address).isEmpty();
  }

  /** The notes of a list, one by one. */
  public static List<Note> apart(byte[] list) {
    List<Note> notes = new ArrayList<>();
    ByteReader in = new ByteReader(list);
    while (in.hasMore()) {
      Slice owner = in.readBlob();
      byte[] alone = new ByteWriter(NOTE_BYTES).writeBlob(owner).writeBlob(in.readBlob()).toBytes();
      notes.add(new Note(owner.toBytes(), alone));
    }
    return notes;
  }

  /**
   * Takes what stood under an address of notes: a head, or a note of a list.
   *
   * @param writing takes addresses, and what stands there from now on
   */
  public void take(byte[] address, byte[] bytes, BiConsumer<byte[], byte[]> writing) {
    Lists lists = kinds.computeIfAbsent(Address.nodeOf(address), Lists::new);
    if (isHead(address)) {
      lists.highest = Math.max(lists.highest, new ByteReader(bytes).readLong());
    } else {
      lists.add(new ByteReader(Address.keyOf(address)).readLong(), bytes, writing);
    }
  }

  /** Writes what is not written yet, once all have been taken. */
  public void finish(BiConsumer<byte[], byte[]> writing) {
    kinds.values().forEach(each -> each.finish(writing));
  }

  /** The lists of notes that stand under one number. */
  private static final class Lists {
    private final int number;
    private final Map<Long, Filling> periods = new TreeMap<>();
    private long highest;

    Lists(int number) {
      this.number = number;
    }

    void add(long period, byte[] note, BiConsumer<byte[], byte[]> writing) {
      Filling filling = periods.computeIfAbsent(period, each -> new Filling());
      filling.bytes.writeRaw(Slice.of(note));
      if (filling.bytes.size() >= Expiry.LIST_BYTES) {
        write(period, filling, writing);
      }
    }

    private void write(long period, Filling filling, BiConsumer<byte[], byte[]> writing) {
      writing.accept(Expiry.listOf(number, period, filling.written), filling.bytes.toBytes());
      filling.written++;
      filling.bytes.reset();
    }

    void finish(BiConsumer<byte[], byte[]> writing) {
      Map<Long, Integer> counts = new TreeMap<>();
      periods.forEach(
          (period, filling) -> {
            if (filling.bytes.size() > 0) {
              write(period, filling, writing);
            }
            counts.put(period, filling.written);
          });
      writing.accept(Expiry.headOf(number), Expiry.head(highest, counts));
    }
  }

  /** The list that is written next of a period, and how many were. */
  private static final class Filling {
    private final ByteWriter bytes = new ByteWriter(Expiry.LIST_BYTES * 2);
    private int written;
  }
}
