package dev.joinery.kernel.admission;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Test;

class IdlePaceTest {
  private long now;
  private final Object source = new Object();
  private final IdlePace pace = new IdlePace(() -> now, millis -> now += millis);

  /** Looks once, and returns how long that waited. */
  private long look() {
    return look(source);
  }

  private long look(Object of) {
    long before = now;
    pace.rest(of);
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
  void aQueryRestsOnceHoweverManySourcesItHas() {
    List<Object> sources = List.of(new Object(), new Object(), new Object());
    sources.forEach(this::look);
    now += 60_000;
    sources.forEach(this::look);
    long before = now;
    sources.forEach(this::look);
    assertEquals(IdlePace.MOST_MS, now - before);
    pace.found();
    before = now;
    sources.forEach(this::look);
    assertEquals(0, now - before, "what one finds keeps the others awake");
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
    ending.rest(source);
    ending.rest(source);
    assertTrue(Thread.interrupted(), "Spark must hear of it");
  }
}
