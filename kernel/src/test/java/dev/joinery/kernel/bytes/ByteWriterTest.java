package dev.joinery.kernel.bytes;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.Test;

class ByteWriterTest {
  @Test
  void aReaderGivesBackWhatWasWrittenInItsOrder() {
    byte[] blob = {1, 2, 3};
    ByteWriter out = new ByteWriter(1);
    out.writeByte(-1).writeInt(Integer.MIN_VALUE).writeLong(Long.MIN_VALUE).writeVarLong(-1);
    out.writeVarInt(300).writeBlob(blob).writeBlob(Slice.of(blob).sub(1, 1)).writeRaw(blob);

    ByteReader in = new ByteReader(out.toBytes());

    assertEquals(-1, in.readByte());
    assertEquals(Integer.MIN_VALUE, in.readInt());
    assertEquals(Long.MIN_VALUE, in.readLong());
    assertEquals(-1, in.readVarLong());
    assertEquals(300, in.readVarInt());
    assertEquals(Slice.of(blob), in.readBlob());
    assertEquals(Slice.of(new byte[] {2}), in.readBlob());
    assertTrue(in.hasMore());
    assertEquals(Slice.of(blob), in.rest());
    assertFalse(in.hasMore());
  }

  @Test
  void variableNumbersOfEveryLengthComeBack() {
    Random random = new Random(1);
    for (int bits = 0; bits <= 64; bits++) {
      long value = bits == 0 ? 0 : random.nextLong() >>> (64 - bits) | 1L << (bits - 1);

      byte[] bytes = new ByteWriter().writeVarLong(value).toBytes();

      assertEquals(Math.max(1, (bits + 6) / 7), bytes.length, bits + " bits");
      assertEquals(value, new ByteReader(bytes).readVarLong());
      assertEquals((int) value, readVarInt((int) value));
    }
  }

  private static int readVarInt(int value) {
    return new ByteReader(new ByteWriter(2).writeVarInt(value).toBytes()).readVarInt();
  }

  @Test
  void fixedNumbersSortAsBytes() {
    byte[] lower = new ByteWriter().writeLong(255).toBytes();
    byte[] higher = new ByteWriter().writeLong(256).toBytes();

    assertTrue(Arrays.compareUnsigned(lower, higher) < 0);
  }

  @Test
  void aWriterThatIsResetStartsAgainAndLeavesWhatItGave() {
    ByteWriter out = new ByteWriter(2);
    byte[] first = out.writeInt(7).toBytes();

    byte[] second = out.reset().writeInt(8).toBytes();

    assertEquals(7, new ByteReader(first).readInt());
    assertEquals(8, new ByteReader(second).readInt());
  }

  @Test
  void anIntCanBeFilledInLater() {
    ByteWriter out = new ByteWriter().writeByte(9).writeInt(0).writeByte(9);

    out.setInt(1, -5);

    assertArrayEquals(new byte[] {9, -1, -1, -1, -5, 9}, out.toBytes());
  }
}
