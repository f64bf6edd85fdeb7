package dev.joinery.kernel.door;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.UUID;
import org.junit.jupiter.api.Test;

class BacklogsTest {
  private static final UUID ONE = new UUID(0, 1);
  private static final UUID OTHER = new UUID(0, 2);

  private final Backlogs backlogs = new Backlogs();

  private void batches(UUID run, long... milliseconds) {
    for (long each : milliseconds) {
      backlogs.batch(run, each);
    }
  }

  @Test
  void aBacklogIsWorkedOffAfterThreeShortBatchesInARow() {
    batches(ONE, 100, 100, 5_000, 100, 4_999);
    assertFalse(backlogs.none());

    batches(ONE, 100);
    assertTrue(backlogs.none());
  }

  @Test
  void shortBatchesOfOneQueryDoNotCountForAnother() {
    batches(OTHER, 60_000);
    batches(ONE, 100, 100, 100, 100);
    assertFalse(backlogs.none());

    batches(OTHER, 100, 100, 100);
    assertTrue(backlogs.none());
  }

  @Test
  void aQueryThatIsInItsFirstBatchHasABacklog() {
    batches(ONE, 100, 100, 100);
    backlogs.begin(OTHER);
    assertFalse(backlogs.none());
  }

  @Test
  void aQueryThatHasEndedOrIsIdleHasNone() {
    batches(ONE, 100, 100, 100);
    backlogs.begin(OTHER);
    backlogs.idle(OTHER);
    assertTrue(backlogs.none());

    batches(OTHER, 60_000);
    backlogs.end(OTHER);
    assertTrue(backlogs.none());
  }

  @Test
  void withoutAQueryNothingIsKnown() {
    batches(ONE, 100, 100, 100);
    backlogs.end(ONE);
    assertFalse(backlogs.none());
  }

  @Test
  void itStartsOver() {
    batches(ONE, 100, 100, 100);
    backlogs.startOver();
    batches(ONE, 100, 100);
    assertFalse(backlogs.none());

    batches(ONE, 100);
    assertTrue(backlogs.none());
  }
}
