package dev.joinery.kernel.stream;

import static dev.joinery.kernel.stream.StreamRun.put;
import static dev.joinery.kernel.stream.StreamSample.CUSTOMER;
import static dev.joinery.kernel.stream.StreamSample.ORDER;
import static dev.joinery.kernel.stream.StreamSample.PRICE;
import static dev.joinery.kernel.stream.StreamSample.SALE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.joinery.kernel.program.Program;
import dev.joinery.kernel.program.StreamProgram;
import dev.joinery.kernel.state.EntryMap;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

/** What a batch costs while many events are open: as much as became final, not what is open. */
class OpenEventsTest {
  private static final long SECOND = 1_000_000;
  private static final long HOUR = 3600 * SECOND;
  private static final long START = 1_700_000_000 * SECOND;
  private static final long NEVER = -1;
  private static final int KEYS = 1_000;

  private static StreamRun.Input[] sales(long from, long to) {
    return LongStream.range(from, to)
        .mapToObj(id -> put(SALE, id, id % KEYS, START + id * SECOND))
        .toArray(StreamRun.Input[]::new);
  }

  private static StreamRun.Input price(long sku, long since) {
    return put(PRICE, sku, 1L, START + since * SECOND);
  }

  private static StreamRun opened(Program program, long count) {
    StreamRun run = new StreamRun(program, 7);
    run.batch(START, price(0, 0));
    run.batch(START + 1, sales(0, count));
    run.resetCounts();
    return run;
  }

  private static Program claimed(boolean corrects) {
    return StreamSample.claimed(StreamSample.asOf(StreamProgram.Miss.NULL, 0, NEVER, corrects), NEVER);
  }

  @Test
  void aBatchThatMakesNothingFinalTouchesFewPages() {
    for (boolean corrects : new boolean[] {false, true}) {
      StreamRun run = opened(claimed(corrects), 60_000);

      assertEquals(0, run.batch(START + 2, price(KEYS, 0)).size());
      assertTrue(run.pagesTouched() <= 24, run.pagesTouched() + " pages");
    }
  }

  /** Of each event that became final its identity is forgotten: a page read and written. */
  @Test
  void heldEventsThatBecomeFinalCostTheSameHoweverManyAreOpen() {
    for (int open : new int[] {50_000, 100_000}) {
      StreamRun run = opened(claimed(false), open);

      assertEquals(100, run.batch(START + 2, price(KEYS, 100)).size());
      assertTrue(run.pagesTouched() <= 2 * 100 + 40, run.pagesTouched() + " pages");
    }
  }

  @Test
  void aVersionOfOneKeyLooksAtTheEventsOfThatKeyFromItsTimeOn() {
    long delay = 100_000 * SECOND;
    StreamRun run = opened(StreamSample.asOf(StreamProgram.Miss.NULL, delay, NEVER, true), 60_000);

    assertEquals(10, run.batch(START + 2, price(7, 50_000)).size());
    assertTrue(run.pagesTouched() <= 3 * 10 + 24, run.pagesTouched() + " pages");
  }

  @Test
  void eventsThatWaitLeaveByTheirOwnTimeWithoutALookAtTheRest() {
    StreamRun run = new StreamRun(StreamSample.oneLookup(StreamProgram.Miss.WAIT, HOUR, NEVER), 7);
    for (long batch = 0; batch < 20; batch++) {
      run.batch(START + batch * 60 * SECOND, orders(batch * 1_000, (batch + 1) * 1_000));
    }
    run.resetCounts();

    assertEquals(1_000, run.batch(START + HOUR).size());
    long all = run.keptBytes() / EntryMap.PAGE_BYTES;
    assertTrue(run.pagesTouched() < all, run.pagesTouched() + " pages of " + all);
  }

  @Test
  void manyEventsThatWaitedForOneRowAreLetGoInParts() {
    StreamRun run = new StreamRun(StreamSample.oneLookup(StreamProgram.Miss.WAIT, HOUR, HOUR), 7);
    run.batch(START, orders(0, 20_000));

    assertEquals(
        20_000,
        run.batch(START + 1, put(CUSTOMER, 5L, "Ada", null)).stream()
            .map(StreamRun.Sent::key)
            .distinct()
            .count());
    assertEquals(20_000, run.batch(START + 2, put(CUSTOMER, 5L, "Eve", null)).size());
    run.batch(START + 3 * HOUR);
    assertEquals(1, run.kept());
  }

  private static StreamRun.Input[] orders(long from, long to) {
    return LongStream.range(from, to)
        .mapToObj(id -> put(ORDER, id, 5L))
        .toArray(StreamRun.Input[]::new);
  }
}
