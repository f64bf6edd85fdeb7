package dev.joinery.kernel.stream;

import static dev.joinery.kernel.stream.StreamRun.put;
import static dev.joinery.kernel.stream.StreamSample.SALE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** A stream's columns over the events of a key in the time up to each. */
class RollingTest {
  private static final long SECOND = 1_000_000;
  private static final long START = 1_700_000_000 * SECOND;
  private static final long DAY = 86_400 * SECOND;

  private static StreamRun.Input sale(long id, long sku, long at) {
    return put(SALE, id, sku, START + at * SECOND);
  }

  private static String sold(long id, long count, long low, boolean again) {
    return "sales {\"id\":%d} {\"id\":%d,\"n\":%d,\"low\":%d,\"again\":%s}"
        .formatted(id, id, count, low, again);
  }

  private static List<String> told(List<StreamRun.Sent> sent) {
    return sent.stream().map(StreamRun.Sent::toString).toList();
  }

  private static String watermark(long at) {
    return "{\"sale\": {\"watermark\": %d}}".formatted(START + at * SECOND);
  }

  @Test
  void aLateEventCorrectsThoseThatSeeIt() {
    StreamRun run = new StreamRun(StreamSample.rolling(DAY), 7);

    assertEquals(
        List.of(sold(1, 1, 1, false), sold(2, 2, 1, false), sold(3, 1, 3, false)),
        told(run.batch(START, sale(1, 1, 0), sale(2, 1, 9), sale(3, 1, 19))));
    assertEquals(
        List.of(sold(3, 3, 3, true), sold(4, 3, 3, false), sold(5, 3, 3, false)),
        told(run.batch(START + 1, sale(4, 1, 19), sale(5, 1, 19))));
    assertEquals(
        List.of(sold(0, 2, 0, false), sold(2, 3, 0, true)),
        told(run.batch(START + 2, sale(0, 1, 8))));
  }

  @Test
  void aCorrectionStandsAboveWhatItCorrects() {
    StreamRun run = new StreamRun(StreamSample.rolling(DAY), 7);
    long first = run.batch(START, sale(1, 1, 5)).get(0).version();

    List<StreamRun.Sent> again = run.batch(START, sale(2, 1, 1));

    assertEquals(List.of(sold(1, 2, 1, true), sold(2, 1, 2, false)), told(again));
    assertTrue(again.get(0).version() > first);
  }

  @Test
  void whatIsBelowTheLeastWatermarkLessRetentionIsForgotten() {
    StreamRun run = new StreamRun(StreamSample.rolling(20 * SECOND), 7);
    run.batch(START, sale(1, 1, 0), sale(2, 2, 0));
    long kept = run.keptBytes();
    run.tell(watermark(31));

    assertEquals(List.of(sold(3, 1, 3, false)), told(run.batch(START + 1, sale(3, 1, 40))));
    assertEquals(kept, run.keptBytes());
    run.expire(START + 100 * DAY);
    assertEquals(1, run.kept());
  }

  @Test
  void aKeyThatIsMetForLongIsLookedAtAsOftenAsOneThatIsNot() {
    StreamRun run = new StreamRun(StreamSample.rolling(20 * SECOND), 7);
    long[] notes = new long[2];
    for (int at = 0; at < 400; at++) {
      run.tell(watermark(at * 35));
      run.expire(START + at * 35 * SECOND);
      run.batch(START + at * 35 * SECOND, sale(at, 1, at * 35));
      notes[at / 200] = run.noteBytes();
    }

    assertEquals(notes[0], notes[1]);
  }

  @Test
  void whatAnEventThatCountsMaySeeIsKept() {
    StreamRun run = new StreamRun(StreamSample.rolling(20 * SECOND), 7);
    run.batch(START, sale(1, 1, 0));
    run.tell(watermark(29));
    run.expire(START + 100 * DAY);

    assertEquals(List.of(sold(2, 2, 1, false)), told(run.batch(START + 1, sale(2, 1, 9))));
    assertEquals(
        List.of("event_too_late {\"id\":3}"),
        run.batch(START + 2, sale(3, 1, 8)).stream()
            .map(each -> each.product() + " " + each.key())
            .toList());
  }

  @Test
  void anEventThatComesAgainLeavesItsEarlierKey() {
    StreamRun run = new StreamRun(StreamSample.claimed(StreamSample.rolling(DAY), -1), 7);
    run.batch(START, sale(1, 1, 0), sale(2, 1, 1), sale(3, 2, 1));

    assertEquals(
        List.of(sold(1, 1, 1, false), sold(2, 1, 2, true), sold(3, 2, 1, true)),
        told(run.batch(START + 1, sale(1, 2, 0))));
    assertEquals(
        List.of(sold(1, 2, 1, false), sold(3, 1, 3, true)),
        told(run.batch(START + 2, sale(1, 2, 3))));
  }

  @Test
  void whereAnEventIsRememberedIsForgottenWithIt() {
    StreamRun run =
        new StreamRun(
            StreamSample.claimed(StreamSample.rolling(20 * SECOND), -1), 7);
    long early = 0;
    for (int at = 0; at < 2000; at++) {
      run.batch(START + at, sale(at, at % 3, at));
      run.tell(watermark(at - 5));
      if (at == 200) {
        early = run.keptBytes();
      }
    }

    assertTrue(run.keptBytes() <= early + early / 10, early + " became " + run.keptBytes());
  }

  @Test
  void aKeyOfManyEventsReadsAFewPagesForAnEventOfNow() {
    StreamRun run = new StreamRun(StreamSample.rolling(DAY), 7);
    for (int batch = 0; batch < 20; batch++) {
      StreamRun.Input[] inputs = new StreamRun.Input[1000];
      for (int i = 0; i < inputs.length; i++) {
        inputs[i] = sale(1000L * batch + i, 1, 1000L * batch + i);
      }
      run.batch(START + batch, inputs);
    }
    run.resetCounts();

    List<StreamRun.Sent> sent = run.batch(START + 20, sale(20_000, 1, 20_000));

    assertEquals(List.of(sold(20_000, 10, 19_991, false)), told(sent));
    assertTrue(run.pagesTouched() <= 4, "pages: " + run.pagesTouched());
  }

  @Test
  void theLastValuesAreThoseOfTheWholeLogHoweverItIsCut() {
    for (int seed = 0; seed < 20; seed++) {
      Random random = new Random(seed);
      List<StreamRun.Input> log = new ArrayList<>();
      Map<Long, long[]> sales = new HashMap<>();
      for (long id = 0; id < 300; id++) {
        long[] each = {random.nextInt(4), random.nextInt(200)};
        sales.put(id, each);
        log.add(sale(id, each[0], each[1]));
      }
      StreamRun run = new StreamRun(StreamSample.rolling(DAY), seed);
      Map<String, String> last = new HashMap<>();
      for (int from = 0, batch = 0; from < log.size(); batch++) {
        int to = Math.min(log.size(), from + 1 + random.nextInt(60));
        StreamRun.Input[] inputs = log.subList(from, to).toArray(new StreamRun.Input[0]);
        for (StreamRun.Sent each : run.batch(START + batch, inputs)) {
          last.put(each.key(), each.value().replaceAll(",\"again.*", ""));
        }
        from = to;
      }
      sales.forEach((id, mine) -> assertEquals(expected(id, mine, sales), last.get(key(id))));
    }
  }

  private static String key(long id) {
    return "{\"id\":%d}".formatted(id);
  }

  private static String expected(long id, long[] mine, Map<Long, long[]> sales) {
    List<Long> seen =
        sales.entrySet().stream()
            .filter(each -> each.getValue()[0] == mine[0])
            .filter(each -> each.getValue()[1] <= mine[1] && each.getValue()[1] > mine[1] - 10)
            .map(Map.Entry::getKey)
            .sorted()
            .toList();
    return "{\"id\":%d,\"n\":%d,\"low\":%d".formatted(id, seen.size(), seen.get(0));
  }
}
