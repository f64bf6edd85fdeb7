package dev.joinery.kernel.spark;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
final class StageSlotsTest {
  private final StageSlots slots = new StageSlots(null, 2);

  @Test
  void moreTasksThanSlotsDoNotWaitForEachOther() throws InterruptedException {
    assertFalse(slots.take(3));
    assertTrue(slots.take(2));
  }

  @Test
  void aJobWaitsUntilAnotherHasGivenItsSlotsBack() throws Exception {
    assertTrue(slots.take(1));
    CompletableFuture<Boolean> second = CompletableFuture.supplyAsync(() -> taken(2));
    assertFalse(second.isDone());

    slots.giveBack(1);

    assertTrue(second.get());
  }

  @Test
  void onceTasksNeverEndNoJobWaits() throws Exception {
    assertTrue(slots.take(2));
    CompletableFuture<Void> closing = CompletableFuture.runAsync(slots::close);
    assertFalse(closing.isDone(), "a job has them still");

    slots.giveBack(2);

    closing.get();
    assertFalse(slots.take(1));
    assertFalse(slots.fits(1));
  }

  private boolean taken(int tasks) {
    try {
      return slots.take(tasks);
    } catch (InterruptedException stopped) {
      throw new IllegalStateException(stopped);
    }
  }
}
