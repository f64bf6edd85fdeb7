package dev.joinery.kernel.chain;

import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** What a thread waits for is not its processor's work. */
class TaskClockTest {
  @Test
  void aThreadThatSleepsTakesLittleOfItsTime() throws InterruptedException {
    TaskClock clock = new TaskClock();

    Thread.sleep(100);

    assertTrue(clock.part() < 0.5, "a part of " + clock.part());
  }

  @Test
  void aThreadThatWorksTakesSomeOfIt() {
    TaskClock clock = new TaskClock();

    long end = System.nanoTime() + 50_000_000;
    while (System.nanoTime() < end) {
      Thread.onSpinWait();
    }

    double part = clock.part();
    assertTrue(part > 0 && part <= 1, "a part of " + part);
  }
}
