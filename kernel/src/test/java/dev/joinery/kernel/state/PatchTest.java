package dev.joinery.kernel.state;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** A patch is as large as what changed, and makes the one value of the other. */
class PatchTest {
  private final Random random = new Random(7);

  @Test
  void anEntryPutIntoTheMiddleIsAllThatIsWritten() {
    byte[] before = bytes(8_000);
    byte[] after = join(part(before, 0, 4_321), bytes(200), part(before, 4_321, 8_000));

    assertTrue(patched(before, after).length < 220);
  }

  @Test
  void placesFarFromOneAnotherAreFoundOneByOne() {
    byte[] before = bytes(8_000);
    byte[] after =
        join(
            bytes(16),
            part(before, 16, 2_000),
            bytes(100),
            part(before, 2_000, 5_000),
            part(before, 5_300, 7_000),
            bytes(50),
            part(before, 7_000, 8_000));

    assertTrue(patched(before, after).length < 16 + 100 + 50 + 80);
  }

  @Test
  void aValueThatIsAnotherIsNotPatched() {
    assertNull(Patch.between(bytes(1_000), bytes(1_000), 0, 500));
  }

  @Test
  void aPatchOfAnotherValueIsRefused() {
    byte[] before = bytes(500);
    byte[] patch = patched(before, join(before, bytes(20)));

    assertThrows(
        IllegalStateException.class,
        () -> new Pieces(Slice.of(bytes(501))).apply(Slice.of(patch)));
    byte[] second = Patch.between(before, join(before, bytes(20)), 1, 500);
    assertThrows(
        IllegalStateException.class, () -> new Pieces(Slice.of(before)).apply(Slice.of(second)));
  }

  /** Few different bytes, so that runs are the same in many places. */
  @Test
  void whateverChangesThePatchesMakeTheValueThatWasWritten() {
    for (int round = 0; round < 4_000; round++) {
      int kinds = 1 + random.nextInt(4) * 80;
      byte[] before = bytes(random.nextInt(400), kinds);
      Pieces pieces = new Pieces(Slice.of(before));
      for (int number = 0; number < 6; number++) {
        byte[] after = edited(before, kinds);
        byte[] patch = Patch.between(before, after, number, 10_000);

        assertNotNull(patch);
        pieces.apply(Slice.of(patch));
        assertArrayEquals(after, pieces.toBytes());
        before = after;
      }
    }
  }

  private byte[] edited(byte[] before, int kinds) {
    byte[] after = before;
    for (int edit = random.nextInt(5); edit >= 0; edit--) {
      int from = random.nextInt(after.length + 1);
      int to = from + random.nextInt(Math.min(60, after.length - from) + 1);
      byte[] added = bytes(random.nextInt(60), kinds);
      after = join(part(after, 0, from), added, part(after, to, after.length));
    }
    return after;
  }

  private static byte[] patched(byte[] before, byte[] after) {
    byte[] patch = Patch.between(before, after, 0, after.length);
    Pieces pieces = new Pieces(Slice.of(before));
    pieces.apply(Slice.of(patch));
    assertArrayEquals(after, pieces.toBytes());
    return patch;
  }

  private byte[] bytes(int size) {
    return bytes(size, 256);
  }

  private byte[] bytes(int size, int kinds) {
    byte[] bytes = new byte[size];
    for (int i = 0; i < size; i++) {
      bytes[i] = (byte) random.nextInt(kinds);
    }
    return bytes;
  }

  private static byte[] part(byte[] bytes, int from, int to) {
    return java.util.Arrays.copyOfRange(bytes, from, to);
  }

  private static byte[] join(byte[]... parts) {
    ByteWriter out = new ByteWriter();
    for (byte[] part : parts) {
      out.writeRaw(part);
    }
    return out.toBytes();
  }
}
