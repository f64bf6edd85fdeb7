package dev.joinery.kernel.bytes;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class SliceTest {
  private static final byte[] BYTES = {1, 2, 3, 1, 2, 4};

  @Test
  void slicesAreEqualByContentWhereverTheyLie() {
    Slice one = new Slice(BYTES, 0, 2);
    Slice other = new Slice(BYTES, 3, 2);

    assertEquals(one, other);
    assertEquals(one.hashCode(), other.hashCode());
    assertEquals(0, one.compareTo(other));
    assertNotEquals(one, new Slice(BYTES, 0, 3));
    assertNotEquals(new Slice(BYTES, 0, 3), new Slice(BYTES, 3, 3));
  }

  @Test
  void orderIsUnsignedAndAPrefixComesFirst() {
    assertTrue(Slice.of(new byte[] {1}).compareTo(Slice.of(new byte[] {(byte) 0x80})) < 0);
    assertTrue(new Slice(BYTES, 0, 2).compareTo(new Slice(BYTES, 0, 3)) < 0);
    assertTrue(new Slice(BYTES, 0, 3).compareTo(new Slice(BYTES, 3, 3)) < 0);
    assertTrue(Slice.EMPTY.compareTo(Slice.of(BYTES)) < 0);
  }

  @Test
  void aDetachedSliceHoldsNoLargerArray() {
    Slice whole = Slice.of(BYTES);
    Slice part = whole.sub(2, 2);

    assertSame(whole, whole.detach());
    assertEquals(part, part.detach());
    assertNotSame(BYTES, part.detach().array());
    assertEquals(2, part.detach().array().length);
  }

  @Test
  void aPartOfAPartCountsFromThePart() {
    assertEquals(Slice.of(new byte[] {3, 1}), Slice.of(BYTES).sub(1, 4).sub(1, 2));
  }
}
