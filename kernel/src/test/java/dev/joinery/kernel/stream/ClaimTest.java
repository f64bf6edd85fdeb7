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
import java.util.List;
import org.junit.jupiter.api.Test;

/** Events that are told again under another join value, before lookups that remember them. */
class ClaimTest {
  private static final long SECOND = 1_000_000;
  private static final long HOUR = 3600 * SECOND;
  private static final long START = 1_700_000_000 * SECOND;
  private static final long NEVER = -1;

  private static StreamRun waiting(int seed) {
    Program program = StreamSample.oneLookup(StreamProgram.Miss.WAIT, HOUR, NEVER);
    return new StreamRun(StreamSample.claimed(program, HOUR), seed);
  }

  private static StreamRun again(int seed) {
    Program program = StreamSample.oneLookup(StreamProgram.Miss.NULL, 0, HOUR);
    return new StreamRun(StreamSample.claimed(program, HOUR), seed);
  }

  private static StreamRun asOf(boolean corrects, long idle) {
    Program program = StreamSample.asOf(StreamProgram.Miss.NULL, 0, idle, corrects);
    return new StreamRun(StreamSample.claimed(program, NEVER), 7);
  }

  private static String order(long id, String name, boolean again) {
    return "orders {\"id\":%d} {\"id\":%d,\"name\":%s,\"again\":%s}"
        .formatted(id, id, name == null ? "null" : '"' + name + '"', again);
  }

  private static String sale(long id, Long price, boolean again) {
    return "sales {\"id\":%d} {\"id\":%d,\"price\":%s,\"again\":%s}"
        .formatted(id, id, price, again);
  }

  private static StreamRun.Input sold(long id, long sku, long at) {
    return put(SALE, id, sku, START + at * SECOND);
  }

  private static StreamRun.Input price(long sku, long price, long since) {
    return put(PRICE, sku, price, START + since * SECOND);
  }

  private static List<String> told(List<StreamRun.Sent> sent) {
    return sent.stream().map(StreamRun.Sent::toString).toList();
  }

  @Test
  void anEventWaitsUnderTheJoinValueThatItHasLast() {
    StreamRun run = waiting(7);
    run.batch(START, put(ORDER, 1L, 5L));
    run.batch(START + 1, put(ORDER, 1L, 6L));

    assertEquals(List.of(), run.batch(START + 2, put(CUSTOMER, 5L, "Ada", null)));
    assertEquals(
        List.of(order(1, "Bob", false)),
        told(run.batch(START + 3, put(CUSTOMER, 6L, "Bob", null))));
    assertEquals(List.of(), run.batch(START + 3 * HOUR));
  }

  @Test
  void anEventIsSentAgainForTheRowItHasLast() {
    for (int seed = 0; seed < 20; seed++) {
      StreamRun run = again(seed);
      run.batch(START, put(CUSTOMER, 5L, "Ada", null), put(CUSTOMER, 6L, "Bob", null));
      run.batch(START + 1, put(ORDER, 1L, 5L));

      assertEquals(
          List.of(order(1, "Bob", false)),
          told(run.batch(START + 2, put(CUSTOMER, 5L, "Eve", null), put(ORDER, 1L, 6L))));
      assertEquals(List.of(), run.batch(START + 3, put(CUSTOMER, 5L, "Kim", null)));
      assertEquals(
          List.of(order(1, "Rob", true)),
          told(run.batch(START + 4, put(CUSTOMER, 6L, "Rob", null))));
    }
  }

  @Test
  void anEventThatWentLongAfterItsWaitIsNotRememberedLongerThanItsClaim() {
    for (long every : new long[] {0, 4 * SECOND}) {
      Program program = StreamSample.oneLookup(StreamProgram.Miss.WAIT, HOUR, HOUR, every);
      StreamRun run = new StreamRun(StreamSample.claimed(program, 2 * HOUR + every), 7);
      run.batch(START, put(ORDER, 1L, 5L), put(ORDER, 2L, 5L));

      assertEquals(2, run.batch(START + 3 * HOUR).size());
      run.batch(START + 3 * HOUR + 10 * SECOND, put(ORDER, 1L, 6L));
      assertEquals(
          List.of(),
          run.batch(START + 3 * HOUR + 20 * SECOND, put(CUSTOMER, 5L, "Ada", null)));
      assertEquals(List.of(), run.batch(START + 3 * HOUR + 30 * SECOND));
      assertEquals(
          List.of(order(1, "Bob", false)),
          told(run.batch(START + 3 * HOUR + 40 * SECOND, put(CUSTOMER, 6L, "Bob", null))));
    }
  }

  @Test
  void anEventThatWentAfterItsWaitIsRememberedFromTheEndOfIt() {
    Program program = StreamSample.oneLookup(StreamProgram.Miss.WAIT, HOUR, HOUR);
    StreamRun run = new StreamRun(StreamSample.claimed(program, 2 * HOUR), 7);
    run.batch(START, put(ORDER, 1L, 5L));

    assertEquals(List.of(order(1, null, false)), told(run.batch(START + HOUR + 30 * SECOND)));
    assertEquals(
        List.of(order(1, "Ada", true)),
        told(run.batch(START + 2 * HOUR - 1, put(CUSTOMER, 5L, "Ada", null))));
    assertEquals(List.of(), run.batch(START + 2 * HOUR, put(CUSTOMER, 5L, "Eve", null)));
  }

  @Test
  void anEventThatLosesItsJoinValueIsForgotten() {
    StreamRun run = again(7);
    run.batch(START, put(CUSTOMER, 5L, "Ada", null), put(ORDER, 1L, 5L));

    assertEquals(
        List.of(order(1, null, false)), told(run.batch(START + 1, put(ORDER, 1L, null))));
    assertEquals(List.of(), run.batch(START + 2, put(CUSTOMER, 5L, "Eve", null)));
  }

  @Test
  void ofOneBatchTheLastInTheLogStandsWhateverTheOrderOfTheMessages() {
    for (int seed = 0; seed < 20; seed++) {
      StreamRun run = again(seed);
      run.batch(START, put(CUSTOMER, 5L, "Ada", null), put(CUSTOMER, 6L, "Bob", null));

      assertEquals(
          List.of(order(1, "Ada", false)),
          told(run.batch(START + 1, put(ORDER, 1L, 6L), put(ORDER, 1L, 5L))));
      assertEquals(List.of(), run.batch(START + 2, put(CUSTOMER, 6L, "Rob", null)));
    }
  }

  @Test
  void anEventThatComesAgainIsAnsweredOnceWhereTheTableGoesOnInTheSameBatch() {
    for (boolean corrects : new boolean[] {false, true}) {
      StreamRun run = asOf(corrects, NEVER);
      run.batch(START, price(1, 10, 0), price(2, 20, 0));
      run.batch(START + 1, sold(1, 1, 5));

      assertEquals(
          List.of(sale(1, 20L, false)),
          told(run.batch(START + 2, price(3, 30, 40), sold(1, 2, 5))));
    }
  }

  @Test
  void nothingIsRememberedOnceTheTimeIsOver() {
    StreamRun run = again(7);
    for (long i = 0; i < 100; i++) {
      run.batch(START + i, put(ORDER, i, i % 3));
    }
    assertTrue(run.kept() > 0);

    run.batch(START + 2 * HOUR);
    run.batch(START + 4 * HOUR);

    assertEquals(0, run.kept());
  }

  @Test
  void aHeldEventIsAnsweredOnceForTheRowItHasLast() {
    StreamRun run = asOf(false, NEVER);
    for (long sku = 0; sku < 9; sku++) {
      run.batch(START, price(sku, sku * 10, 0), sold(sku, sku, 5));
    }
    for (long sku = 0; sku < 9; sku++) {
      assertEquals(List.of(), run.batch(START + 1, sold(sku, 8 - sku, 5)));
    }

    assertEquals(9, run.batch(START + 2, price(99, 0, 60)).size());
    assertEquals(List.of(), run.batch(START + 3, price(99, 0, 70)));
  }

  @Test
  void aCorrectedEventIsCorrectedForTheRowItHasLast() {
    StreamRun run = asOf(true, NEVER);
    for (long sku = 0; sku < 9; sku++) {
      run.batch(START, price(sku, sku * 10, 0), sold(sku, sku, 50));
    }
    for (long sku = 0; sku < 9; sku++) {
      run.batch(START + 1, sold(sku, 8 - sku, 50));
    }

    for (long sku = 0; sku < 9; sku++) {
      assertEquals(
          List.of(sale(8 - sku, 7L, true)), told(run.batch(START + 2 + sku, price(sku, 7, 40))));
    }
  }

  @Test
  void whatAnIdleTableAnswersIsNotFollowed() {
    StreamRun run = asOf(false, 30 * SECOND);
    run.batch(START, price(1, 10, 0), sold(1, 1, 5));
    run.batch(START + 31 * SECOND);

    assertEquals(
        List.of(sale(1, 10L, false)),
        told(run.batch(START + 32 * SECOND, sold(1, 1, 6))));
    assertEquals(List.of(), run.batch(START + 33 * SECOND, price(1, 11, 60)));
  }

  @Test
  void whatATableThatNeverHadARowAnswersIsNotHeldElsewhere() {
    for (long moved = 1; moved < 9; moved++) {
      StreamRun run = asOf(false, 30 * SECOND);
      for (long id = 0; id < 9; id++) {
        run.batch(START, sold(id, 0, 5));
      }

      assertEquals(9, run.batch(START + 30 * SECOND).size());
      assertEquals(
          List.of(sale(20, null, false)),
          told(run.batch(START + 31 * SECOND, sold(20, moved, 5))));
      assertEquals(
          List.of(sale(20, null, false)), told(run.batch(START + 32 * SECOND, sold(20, 0, 5))));
      assertEquals(List.of(), run.batch(START + 62 * SECOND));
    }
  }
}
