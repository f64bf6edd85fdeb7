package dev.joinery.kernel.stream;

import static dev.joinery.kernel.stream.StreamRun.put;
import static dev.joinery.kernel.stream.StreamSample.SALE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Whether an event of a stream was told before, near its time. */
class SeenTest {
  private static final long SECOND = 1_000_000;
  private static final long START = 1_700_000_000 * SECOND;
  private static final long DAY = 86_400 * SECOND;

  private static StreamRun.Input sale(long id, Long sku, long at) {
    return put(SALE, id, sku, START + at * SECOND);
  }

  /** The ids of the events that were not seen. */
  private static List<Long> fresh(List<StreamRun.Sent> sent) {
    return sent.stream()
        .filter(each -> each.value().contains("\"seen\":false"))
        .map(each -> Long.parseLong(each.key().replaceAll("\\D", "")))
        .sorted()
        .toList();
  }

  private static void tell(StreamRun run, long watermark) {
    run.tell("{\"sale\": {\"watermark\": %d}}".formatted(START + watermark * SECOND));
  }

  @Test
  void ofWhatIsNearTheFirstInTheLogIsNew() {
    StreamRun run = new StreamRun(StreamSample.seen(), 7);

    assertEquals(
        List.of(1L, 4L),
        fresh(run.batch(START, sale(1, 1L, 5), sale(2, 1L, 5), sale(3, 1L, 0), sale(4, 2L, 5))));
    assertEquals(
        List.of(7L), fresh(run.batch(START + 1, sale(5, 1L, 14), sale(6, 1L, -9), sale(7, 1L, 24))));
  }

  @Test
  void nullWasNeverSeenAndIsNotKept() {
    StreamRun run = new StreamRun(StreamSample.seen(), 7);

    assertEquals(List.of(1L, 2L), fresh(run.batch(START, sale(1, null, 5), sale(2, null, 5))));
    assertEquals(0, run.kept());
  }

  @Test
  void timesAreForgottenOnceNothingIsNearThatStillCounts() {
    StreamRun run = new StreamRun(StreamSample.seen(), 7);
    run.batch(START, sale(1, 1L, 0), sale(2, 2L, 0));
    tell(run, 19);
    run.expire(START + 100 * DAY);
    assertEquals(2, run.kept());
    assertEquals(List.of(), fresh(run.batch(START + 1, sale(3, 1L, 9))));

    tell(run, 20);
    run.expire(START + 200 * DAY);

    assertEquals(1, run.kept());
    assertEquals(
        List.of("event_too_late {\"id\":4}"),
        run.batch(START + 2, sale(4, 1L, 9)).stream()
            .map(each -> each.product() + " " + each.key())
            .toList());
  }

  @Test
  void aValueThatIsToldOftenTakesNoMoreThanOneThatIsNot() {
    StreamRun run = new StreamRun(StreamSample.seen(), 7);
    run.batch(START, sale(0, 1L, 0));
    long kept = run.keptBytes();

    for (int at = 1; at < 2000; at++) {
      assertEquals(List.of(), fresh(run.batch(START + at, sale(at, 1L, at))));
    }

    assertEquals(kept, run.keptBytes());
  }

  @Test
  void aValueIsLookedAtSoonAfterNoEventIsNearIt() {
    StreamRun run = new StreamRun(StreamSample.seen(), 7);
    run.batch(START, sale(1, 1L, 0));
    tell(run, 20);

    run.expire(START + 22 * SECOND);

    assertEquals(0, run.kept());
  }

  @Test
  void aValueThatIsToldForLongIsLookedAtAsOftenAsOneThatIsNot() {
    StreamRun run = new StreamRun(StreamSample.seen(), 7);
    long[] notes = new long[2];
    for (int at = 0; at < 400; at++) {
      run.tell("{\"sale\": {\"watermark\": %d}}".formatted(START + at * 25 * SECOND));
      run.expire(START + at * 25 * SECOND);
      run.batch(START + at * 25 * SECOND, sale(at, 1L, at * 25));
      notes[at / 200] = run.noteBytes();
    }

    assertEquals(notes[0], notes[1]);
  }

  @Test
  void whatIsNewDoesNotDependOnHowTheLogIsCut() {
    Random random = new Random(3);
    List<StreamRun.Input> log = new ArrayList<>();
    List<Long> expected = new ArrayList<>();
    List<long[]> told = new ArrayList<>();
    for (long id = 0; id < 500; id++) {
      long sku = random.nextInt(6);
      long at = random.nextInt(400);
      log.add(sale(id, sku, at));
      if (told.stream().noneMatch(each -> each[0] == sku && Math.abs(each[1] - at) < 10)) {
        expected.add(id);
      }
      told.add(new long[] {sku, at});
    }
    assertTrue(expected.size() > 50);
    for (int seed = 0; seed < 10; seed++) {
      StreamRun run = new StreamRun(StreamSample.seen(), seed);
      Random cuts = new Random(seed);
      List<Long> found = new ArrayList<>();
      for (int from = 0, batch = 0; from < log.size(); batch++) {
        int to = Math.min(log.size(), from + 1 + cuts.nextInt(60));
        StreamRun.Input[] inputs = log.subList(from, to).toArray(new StreamRun.Input[0]);
        found.addAll(fresh(run.batch(START + batch, inputs)));
        from = to;
      }
      assertEquals(expected, found);
    }
  }
}
