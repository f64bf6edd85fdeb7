package dev.joinery.kernel.stream;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.joinery.kernel.bytes.Slice;
import org.junit.jupiter.api.Test;

class VersionsTest {
  private final Versions versions = new Versions();

  private static Slice row(int number) {
    return Slice.of(new byte[] {(byte) number});
  }

  @Test
  void aLateVersionLeavesTheTimesBeforeToTheOneThatStoodThere() {
    versions.put(10, 0, 10, row(1));
    versions.put(20, 0, 30, row(2));

    assertNull(versions.at(9));
    assertEquals(row(1), versions.at(29));
    assertEquals(row(2), versions.at(30));
    assertEquals(row(2), versions.before(29));
  }

  @Test
  void ofOneTimeTheLaterPositionStandsFromWhenItIsUsed() {
    assertTrue(versions.put(20, 5, 20, row(1)));
    assertFalse(versions.put(20, 4, 30, row(2)));
    assertTrue(versions.put(20, 6, 30, row(3)));
    assertTrue(versions.put(20, 6, 30, row(4)));

    assertEquals(row(1), versions.at(29));
    assertEquals(row(4), versions.at(30));
    assertEquals(row(4), Versions.read(versions.toBytes()).before(20));
  }

  @Test
  void aTimelyVersionReplacesTheOneOfItsTime() {
    versions.put(20, 0, 20, row(1));
    versions.put(20, 0, 20, row(2));
    int one = versions.toBytes().length();
    versions.put(20, 0, 20, row(3));

    assertEquals(one, versions.toBytes().length());
    assertEquals(row(3), versions.at(20));
  }

  @Test
  void whatIsStillUsedAtATimeIsKeptThoughALateVersionStandsAfterIt() {
    versions.put(5, 0, 5, row(1));
    versions.put(7, 0, 7, row(2));
    versions.put(8, 0, 20, row(3));
    versions.forgetBefore(10);

    assertNull(versions.at(6));
    assertEquals(row(2), versions.at(10));
    assertEquals(row(3), versions.at(20));
  }
}
