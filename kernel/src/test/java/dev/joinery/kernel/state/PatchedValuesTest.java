package dev.joinery.kernel.state;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** What is written of a value is as large as what changed of it, and a fraction of the value. */
class PatchedValuesTest {
  private static final byte[] ADDRESS = {1, 2, 3, 4, 5};
  private final MemoryParts parts = new MemoryParts();
  private final PatchedValues values = new PatchedValues(parts);
  private final Random random = new Random(3);

  @Test
  void changesOfALargeValueCostAFractionOfIt() {
    byte[] value = bytes(10_000);
    values.put(ADDRESS, value);
    parts.bytesWritten = 0;

    for (int i = 0; i < 90; i++) {
      value[random.nextInt(value.length)] ^= 1;
      values.write(ADDRESS, values.read(ADDRESS), value.clone());
      assertArrayEquals(value, values.read(ADDRESS).value());
    }

    assertTrue(parts.bytesWritten < 90 * 10_000 / 8, parts.bytesWritten + " bytes");
  }

  @Test
  void patchesNeverTakeMuchMoreRoomThanTheValue() {
    byte[] value = bytes(10_000);
    values.put(ADDRESS, value);

    for (int i = 0; i < 200; i++) {
      random.nextBytes(value);
      System.arraycopy(values.read(ADDRESS).value(), 0, value, 0, 7_000);
      values.write(ADDRESS, values.read(ADDRESS), value.clone());
      assertTrue(parts.bytes() <= 20_000, parts.bytes() + " bytes");
    }
  }

  @Test
  void aValueThatShrinksLeavesNothingOfWhatItWas() {
    byte[] value = bytes(10_000);
    values.put(ADDRESS, value);

    values.write(ADDRESS, values.read(ADDRESS), Arrays.copyOf(value, 300));

    assertEquals(300, parts.bytes());
    assertArrayEquals(Arrays.copyOf(value, 300), values.read(ADDRESS).value());
  }

  @Test
  void aValueThatIsAsItWasIsNotWritten() {
    byte[] value = bytes(1_000);
    values.put(ADDRESS, value);
    parts.bytesWritten = 0;

    values.write(ADDRESS, values.read(ADDRESS), value.clone());

    assertEquals(0, parts.bytesWritten);
  }

  @Test
  void aValueOfWhichNothingIsKnownIsWrittenWhole() {
    byte[] value = bytes(1_000);
    values.put(ADDRESS, bytes(1_000));

    values.write(ADDRESS, null, value);

    assertArrayEquals(value, values.read(ADDRESS).value());
    assertEquals(1_000, parts.bytes());
  }

  @Test
  void aValueThatWasRemovedIsGoneWithItsPatches() {
    byte[] value = bytes(1_000);
    values.put(ADDRESS, value);
    byte[] next = value.clone();
    next[500]++;
    values.write(ADDRESS, values.read(ADDRESS), next);

    values.remove(ADDRESS);

    assertNull(values.read(ADDRESS));
    assertEquals(0, parts.bytes());
  }

  private byte[] bytes(int size) {
    byte[] bytes = new byte[size];
    random.nextBytes(bytes);
    return bytes;
  }
}
