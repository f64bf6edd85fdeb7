package dev.joinery.kernel.admission;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class IdlePaceTest {
  private long now;
  private final IdlePace pace = new IdlePace(() -> now, millis -> now += millis);

  /** Looks once, and returns how long that waited. */
  private long look() {
    long before = now;
    pace.rest();
    return now - before;
  }

  @Test
  void whatComesSoonIsNotWaitedFor() {
    for (int each = 0; each < 50; each++) {
      now += 10;
      assertEquals(0, look());
    }
  }

  @Test
  void theLongerNothingIsFoundTheLongerItRestsUpToABound() {
    now += 5_000;
    assertEquals(0, look(), "its last look was long ago");
    assertEquals(100, look());
    now += 3_600_000;
    look();
    assertEquals(IdlePace.MOST_MS, look());
  }

  @Test
  void whatIsFoundWakesIt() {
    now += 60_000;
    look();
    pace.found();
    assertEquals(0, look());
  }

  @Test
  void manySourcesOfAQueryRestTogether() {
    now += 60_000;
    look();
    now += 10;
    assertEquals(IdlePace.MOST_MS - 10, look());
    now += IdlePace.MOST_MS;
    assertEquals(0, look(), "the next source is asked in the same round, or later");
  }

  @Test
  void aThreadThatIsToEndDoesNotWait() {
    IdlePace ending =
        new IdlePace(
            () -> now,
            millis -> {
              throw new InterruptedException();
            });
    now += 60_000;
    ending.rest();
    ending.rest();
    assertTrue(Thread.interrupted(), "Spark must hear of it");
  }
}
