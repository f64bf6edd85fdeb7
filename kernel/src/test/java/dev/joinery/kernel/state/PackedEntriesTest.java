package dev.joinery.kernel.state;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Entries of a small map, packed and read again. */
class PackedEntriesTest {
  private static byte[] packed(List<EntryMap.Entry> entries) {
    ByteWriter out = new ByteWriter(64);
    PackedEntries.write(entries, out);
    return out.toBytes();
  }

  private static List<EntryMap.Entry> unpacked(byte[] packed, int count) {
    ByteReader in = new ByteReader(packed);
    List<EntryMap.Entry> entries = new ArrayList<>();
    PackedEntries.read(in, count, entries::add);
    assertTrue(!in.hasMore());
    return entries;
  }

  private static Slice bytes(Random random, int most) {
    byte[] bytes = new byte[random.nextInt(most + 1)];
    for (int i = 0; i < bytes.length; i++) {
      bytes[i] = (byte) (random.nextInt(3) == 0 ? random.nextInt(256) : 0);
    }
    return Slice.of(bytes);
  }

  @Test
  void whatWasPackedIsReadAgain() {
    Random random = new Random(7);
    for (int round = 0; round < 200; round++) {
      List<EntryMap.Entry> entries = new ArrayList<>();
      int most = round % 60;
      for (int i = random.nextInt(20); i > 0; i--) {
        entries.add(new EntryMap.Entry(bytes(random, most), bytes(random, most)));
      }

      assertEquals(entries, unpacked(packed(entries), entries.size()));
    }
  }

  @Test
  void whatIsAlikeTakesNoRoom() {
    List<EntryMap.Entry> entries = new ArrayList<>();
    for (int i = 0; i < 10; i++) {
      Slice key = Slice.of(new ByteWriter().writeLong(i).writeLong(7).toBytes());
      entries.add(new EntryMap.Entry(key, Slice.of(new byte[16])));
    }

    assertTrue(packed(entries).length <= 10 * 6);
  }
}
