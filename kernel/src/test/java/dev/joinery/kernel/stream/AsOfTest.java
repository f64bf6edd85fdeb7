package dev.joinery.kernel.stream;

import static dev.joinery.kernel.stream.StreamRun.delete;
import static dev.joinery.kernel.stream.StreamRun.put;
import static dev.joinery.kernel.stream.StreamSample.PRICE;
import static dev.joinery.kernel.stream.StreamSample.SALE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.joinery.kernel.message.Marks;
import dev.joinery.kernel.program.StreamProgram;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/** A stream's lookup of the row that was valid at the event's time. */
class AsOfTest {
  private static final long SECOND = 1_000_000;
  private static final long START = 1_700_000_000 * SECOND;
  private static final long NEVER = -1;

  private static StreamRun holding(StreamProgram.Miss miss, long maxDelay, long idle) {
    return new StreamRun(StreamSample.asOf(miss, maxDelay, idle, false), 7);
  }

  private static StreamRun.Input sale(long id, long sku, long at) {
    return put(SALE, id, sku, START + at * SECOND);
  }

  private static StreamRun.Input price(long sku, long price, long since) {
    return put(PRICE, sku, price, START + since * SECOND);
  }

  private static String sold(long id, Long price, boolean again) {
    return "sales {\"id\":%d} {\"id\":%d,\"price\":%s,\"again\":%s}"
        .formatted(id, id, price, again);
  }

  private static List<String> told(List<StreamRun.Sent> sent) {
    return sent.stream().map(StreamRun.Sent::toString).toList();
  }

  @Test
  void anEventWaitsForTheWatermarkOfTheWholeTable() {
    StreamRun run = holding(StreamProgram.Miss.NULL, 10 * SECOND, NEVER);

    assertEquals(List.of(), run.batch(START, price(1, 10, 0), sale(1, 1, 5)));
    assertEquals(List.of(), run.batch(START + 1, price(2, 99, 15)));
    assertEquals(
        List.of(sold(1, 10L, false)), told(run.batch(START + 2, price(2, 98, 16))));
    assertEquals(List.of(), run.batch(START + 3, price(1, 11, 40)));
  }

  @Test
  void anEventMeetsTheVersionThatWasValidAtItsTime() {
    StreamRun run = holding(StreamProgram.Miss.NULL, 0, NEVER);
    run.batch(START, price(1, 10, 10), price(1, 20, 20), price(1, 30, 30));

    assertEquals(
        List.of(sold(1, null, false), sold(2, 10L, false), sold(3, 10L, false), sold(4, 20L, false)),
        told(run.batch(START + 1, sale(1, 1, 9), sale(2, 1, 10), sale(3, 1, 19), sale(4, 1, 20))));
  }

  @Test
  void aMissedVersionDropsTheEventOrMakesADeadLetter() {
    StreamRun dropping = holding(StreamProgram.Miss.DROP, 0, NEVER);
    StreamRun telling = holding(StreamProgram.Miss.DEAD_LETTER, 0, NEVER);

    assertEquals(List.of(), dropping.batch(START, price(1, 10, 10), sale(1, 1, 9)));
    assertEquals(
        List.of("lookup_miss {\"id\":1}"),
        telling.batch(START, price(1, 10, 10), sale(1, 1, 9)).stream()
            .map(each -> each.product() + " " + each.key())
            .toList());
  }

  @Test
  void anEventWithoutATimeIsADeadLetter() {
    StreamRun run = holding(StreamProgram.Miss.NULL, 0, NEVER);

    assertEquals(
        List.of("event_without_time {\"id\":1}"),
        run.batch(START, put(SALE, 1L, 1L, null)).stream()
            .map(each -> each.product() + " " + each.key())
            .toList());
  }

  @Test
  void aDeleteLeavesTheHistoryAlone() {
    StreamRun run = holding(StreamProgram.Miss.NULL, 0, NEVER);
    run.batch(START, price(1, 10, 0), price(2, 0, 100));
    run.batch(START + 1, delete(PRICE, 1L, null, null));

    assertEquals(List.of(sold(1, 10L, false)), told(run.batch(START + 2, sale(1, 1, 5))));
  }

  @Test
  void aQuietTableHoldsNobodyUp() {
    StreamRun run = holding(StreamProgram.Miss.NULL, 0, 30 * SECOND);
    run.batch(START, price(1, 10, 0), sale(1, 1, 5));

    assertEquals(List.of(), run.batch(START + 29 * SECOND));
    assertEquals(List.of(sold(1, 10L, false)), told(run.batch(START + 30 * SECOND)));
    assertEquals(
        List.of(sold(2, 10L, false)), told(run.batch(START + 31 * SECOND, sale(2, 1, 5))));
  }

  @Test
  void aTableThatNeverHadARowIsQuietFromTheFirstBatchWhateverTheKey() {
    StreamRun run = holding(StreamProgram.Miss.NULL, 0, 30 * SECOND);

    assertEquals(List.of(), run.batch(START, sale(0, 0, 5)));
    for (long sku = 1; sku < 9; sku++) {
      assertEquals(List.of(), run.batch(START + (20 + sku) * SECOND, sale(sku, sku, 5)));
    }
    assertEquals(9, run.batch(START + 30 * SECOND).size());
    assertEquals(List.of(sold(9, null, false)), told(run.batch(START + 31 * SECOND, sale(9, 9, 5))));
  }

  @Test
  void anEventThatGoesAtOnceIsCorrectedByLaterVersions() {
    StreamRun run = new StreamRun(StreamSample.asOf(StreamProgram.Miss.NULL, 0, NEVER, true), 7);

    assertEquals(
        List.of(sold(1, 10L, false)), told(run.batch(START, price(1, 10, 0), sale(1, 1, 50))));
    assertEquals(List.of(), run.batch(START + 1, price(2, 20, 10)));
    assertEquals(List.of(sold(1, 20L, true)), told(run.batch(START + 2, price(1, 20, 20))));
    assertEquals(List.of(), run.batch(START + 3, price(1, 15, 15)));
    assertEquals(List.of(sold(1, 40L, true)), told(run.batch(START + 4, price(1, 40, 40))));
    assertEquals(List.of(), run.batch(START + 5, price(1, 60, 60)));
    assertEquals(List.of(), run.batch(START + 6, price(1, 45, 45)));
  }

  @Test
  void whatNoEventCanMeetAnyMoreIsForgotten() {
    StreamRun run =
        new StreamRun(
            StreamSample.asOf(StreamProgram.Miss.NULL, 5 * SECOND, NEVER, 20 * SECOND, false), 7);
    long early = 0;
    for (long at = 0; at < 3000; at++) {
      run.batch(START + at, price(at % 3, at, at));
      if (at == 100) {
        early = run.keptBytes();
      }
    }

    assertTrue(run.keptBytes() <= early + early / 10, early + " became " + run.keptBytes());
    assertEquals(
        List.of(sold(1, 2973L, false), sold(2, 2993L, false)),
        told(run.batch(START + 4000, sale(1, 0, 2975), sale(2, 2, 2993))));
  }

  @Test
  void anEventTooFarBehindIsADeadLetter() {
    StreamRun run =
        new StreamRun(
            StreamSample.asOf(StreamProgram.Miss.NULL, 5 * SECOND, NEVER, 20 * SECOND, false), 7);
    run.batch(START, price(1, 10, 0), price(1, 20, 100));

    assertEquals(
        List.of("event_too_late {\"id\":1}", "sales {\"id\":2}"),
        run.batch(START + 1, sale(1, 1, 74), sale(2, 1, 75)).stream()
            .map(each -> each.product() + " " + each.key())
            .toList());
  }

  @Test
  void aLateVersionIsUsedFromTheWatermarkOnWhenItWasRead() {
    for (int cut = 0; cut < 4; cut++) {
      StreamRun run = holding(StreamProgram.Miss.NULL, 0, NEVER);
      StreamRun.Input[] log = {
        price(1, 10, 10), price(2, 99, 30), price(1, 20, 20), price(1, 25, 20), price(2, 98, 60)
      };
      StreamRun.Input[] first = Arrays.copyOf(log, cut + 1);
      run.batch(START, first);
      run.batch(START + 1, Arrays.copyOfRange(log, first.length, log.length));

      assertEquals(
          List.of(sold(1, 10L, false), sold(2, 25L, false), sold(3, 25L, false)),
          told(run.batch(START + 2, sale(1, 1, 25), sale(2, 1, 30), sale(3, 1, 40))));
    }
  }

  @Test
  void eachPartitionOfALogIsLateByItself() {
    Marks first = new Marks();
    first.add(3, 3, 0, 100);
    TableClock clock = new TableClock(null, 10, NEVER);
    clock.hear(first, 1);
    Marks marks = new Marks();
    marks.add(3, 3, 50, 130);
    marks.add(3, 3, 70, 120);
    marks.add(4, 4, 0, 500);

    assertEquals(90, clock.watermark());
    assertEquals(90, clock.watermarkBefore(3, marks.newestBefore(3, 3, 60)));
    assertEquals(120, clock.watermarkBefore(3, marks.newestBefore(3, 3, 75)));
    assertEquals(Marks.UNKNOWN, clock.watermarkBefore(4, marks.newestBefore(4, 4, 9)));
    assertEquals(490, clock.watermarkBefore(4, 500));
  }

  private static Marks marks(long partition, long newest) {
    Marks marks = new Marks();
    marks.add(partition, partition, 0, newest);
    return marks;
  }

  @Test
  void theTableHasComeAsFarAsTheSlowestPartitionThatIsNotQuiet() {
    TableClock clock = new TableClock(null, 10, 30);
    clock.hear(marks(1, 500), 1);
    clock.hear(marks(2, 100), 2);

    // The second partition was not known when the first had come that far: nothing falls.
    assertEquals(490, clock.watermark());
    clock.hear(marks(2, 600), 3);
    clock.hear(marks(1, 700), 32);
    assertEquals(590, clock.watermark());
    assertEquals(33, clock.idleAt(32));
    assertEquals(690, clock.finalBefore(33));
    clock.hear(new Marks(), 33);
    clock.hear(marks(2, 610), 34);
    assertEquals(690, clock.watermark());
    assertEquals(62, clock.idleAt(34));
    assertEquals(Long.MAX_VALUE, clock.finalBefore(64));
  }

  @Test
  void theAnswersDoNotDependOnHowTheLogsAreCutIntoBatches() {
    Random random = new Random(11);
    List<StreamRun.Input> log = new ArrayList<>();
    for (int i = 0; i < 400; i++) {
      long sku = random.nextInt(9);
      log.add(
          random.nextInt(3) == 0
              ? price(sku, i, i - random.nextInt(60))
              : sale(i, sku, i - random.nextInt(30)));
    }
    log.add(price(0, 0, 10_000));
    TreeSet<List<String>> answers = new TreeSet<>((one, two) -> one.equals(two) ? 0 : 1);

    for (int seed = 0; seed < 6; seed++) {
      StreamRun run =
          new StreamRun(StreamSample.asOf(StreamProgram.Miss.NULL, 20 * SECOND, NEVER, false), seed);
      Random cuts = new Random(seed);
      List<String> sent = new ArrayList<>();
      for (int from = 0, batch = 0; from < log.size(); batch++) {
        int to = Math.min(log.size(), from + 1 + cuts.nextInt(60));
        StreamRun.Input[] inputs = log.subList(from, to).toArray(new StreamRun.Input[0]);
        sent.addAll(told(run.batch(START + batch, inputs)));
        from = to;
      }
      Collections.sort(sent);
      answers.add(sent);
    }

    assertEquals(1, answers.size());
    assertTrue(answers.first().size() > 200);
    assertTrue(Arrays.toString(answers.first().toArray()).contains("null"));
  }
}
