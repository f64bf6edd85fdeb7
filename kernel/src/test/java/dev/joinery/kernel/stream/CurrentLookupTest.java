package dev.joinery.kernel.stream;

import static dev.joinery.kernel.stream.StreamRun.delete;
import static dev.joinery.kernel.stream.StreamRun.put;
import static dev.joinery.kernel.stream.StreamSample.CITY;
import static dev.joinery.kernel.stream.StreamSample.CUSTOMER;
import static dev.joinery.kernel.stream.StreamSample.ORDER;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.joinery.kernel.program.StreamProgram;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** A stream's lookup of the current row, with every switch. */
class CurrentLookupTest {
  private static final long SECOND = 1_000_000;
  private static final long START = 1_700_000_000 * SECOND;
  private static final long NEVER = -1;

  private static StreamRun run(StreamProgram.Miss miss, long waitMicros, long forMicros) {
    return new StreamRun(StreamSample.oneLookup(miss, waitMicros, forMicros), 7);
  }

  private static List<String> told(List<StreamRun.Sent> sent) {
    return sent.stream().map(StreamRun.Sent::toString).toList();
  }

  @Test
  void anEventMeetsTheRowOfItsOwnBatchWhateverTheOrderWithinIt() {
    for (int seed = 0; seed < 20; seed++) {
      StreamRun run = new StreamRun(StreamSample.oneLookup(StreamProgram.Miss.DROP, 0, NEVER), seed);

      List<StreamRun.Sent> sent =
          run.batch(
              START,
              put(ORDER, 1L, 5L),
              put(CUSTOMER, 5L, "Ada", null),
              put(ORDER, 2L, 5L),
              put(CUSTOMER, 5L, "Ada L.", null));

      assertEquals(
          List.of(
              "orders {\"id\":1} {\"id\":1,\"name\":\"Ada L.\",\"again\":false}",
              "orders {\"id\":2} {\"id\":2,\"name\":\"Ada L.\",\"again\":false}"),
          told(sent));
    }
  }

  @Test
  void aLaterChangeSendsNothingWhereEventsAreKeptAsTheyWere() {
    StreamRun run = run(StreamProgram.Miss.NULL, 0, NEVER);
    run.batch(START, put(CUSTOMER, 5L, "Ada", null), put(ORDER, 1L, 5L));

    assertEquals(List.of(), run.batch(START + 1, put(CUSTOMER, 5L, "Grace", null)));
    assertEquals(1, run.kept());
  }

  @Test
  void aMissedRowIsNull() {
    assertEquals(
        List.of("orders {\"id\":1} {\"id\":1,\"name\":null,\"again\":false}"),
        told(run(StreamProgram.Miss.NULL, 0, NEVER).batch(START, put(ORDER, 1L, 5L))));
  }

  @Test
  void anEventWithoutAJoinValueMeetsNoRow() {
    StreamRun run = run(StreamProgram.Miss.NULL, 0, NEVER);

    assertEquals(
        List.of("orders {\"id\":1} {\"id\":1,\"name\":null,\"again\":false}"),
        told(run.batch(START, put(ORDER, 1L, null), put(CUSTOMER, 5L, "Ada", null))));
    assertEquals(1, run.kept());
  }

  @Test
  void aMissedRowDropsTheEvent() {
    assertEquals(
        List.of(), run(StreamProgram.Miss.DROP, 0, NEVER).batch(START, put(ORDER, 1L, 5L)));
  }

  @Test
  void aMissedRowMakesADeadLetter() {
    assertEquals(
        List.of("lookup_miss {\"id\":1} {\"id\":1,\"customer_id\":5}"),
        told(run(StreamProgram.Miss.DEAD_LETTER, 0, NEVER).batch(START, put(ORDER, 1L, 5L))));
  }

  @Test
  void aDeadLetterLeavesOutWhatIsNoColumnOfTheEvent() {
    StreamProgram.Miss miss = StreamProgram.Miss.DEAD_LETTER;
    StreamRun run =
        new StreamRun(StreamSample.oneLookup(miss, 0, NEVER, 0, new int[] {1}), 7);

    assertEquals(
        List.of("lookup_miss {\"id\":1} {\"id\":1}"),
        told(run.batch(START, put(ORDER, 1L, 5L))));
  }

  @Test
  void aDeletedRowIsMissed() {
    StreamRun run = run(StreamProgram.Miss.DROP, 0, NEVER);
    run.batch(START, put(CUSTOMER, 5L, "Ada", null));
    run.batch(START + 1, delete(CUSTOMER, 5L, null, null));

    assertEquals(List.of(), run.batch(START + 2, put(ORDER, 1L, 5L)));
  }

  @Test
  void aDeletedRowIsForgottenOnceItsRetentionIsOver() {
    StreamRun plain = run(StreamProgram.Miss.NULL, 0, NEVER);
    StreamRun remembering = run(StreamProgram.Miss.NULL, 0, 60 * SECOND);
    for (StreamRun run : List.of(plain, remembering)) {
      run.batch(START, put(CUSTOMER, 5L, "Ada", null), put(CUSTOMER, 6L, "Eve", null));
      run.batch(START + 1, delete(CUSTOMER, 5L, null, null), delete(CUSTOMER, 6L, null, null));
      run.batch(START + 2, put(CUSTOMER, 6L, "Eve", null));
      assertEquals(2, run.kept());

      run.expire(START + 100 * 86_400 * SECOND);

      assertEquals(1, run.kept());
      assertEquals(
          List.of(
              "orders {\"id\":1} {\"id\":1,\"name\":null,\"again\":false}",
              "orders {\"id\":2} {\"id\":2,\"name\":\"Eve\",\"again\":false}"),
          told(
              run.batch(
                  START + 101 * 86_400 * SECOND, put(ORDER, 1L, 5L), put(ORDER, 2L, 6L))));
    }
  }

  @Test
  void anEventWaitsForItsRow() {
    StreamRun run = run(StreamProgram.Miss.WAIT, 60 * SECOND, NEVER);

    assertEquals(List.of(), run.batch(START, put(ORDER, 1L, 5L), put(ORDER, 2L, 5L)));
    assertEquals(
        List.of(
            "orders {\"id\":1} {\"id\":1,\"name\":\"Ada\",\"again\":false}",
            "orders {\"id\":2} {\"id\":2,\"name\":\"Ada\",\"again\":false}"),
        told(run.batch(START + 59 * SECOND, put(CUSTOMER, 5L, "Ada", null))));
    assertEquals(List.of(), run.batch(START + 61 * SECOND));
  }

  @Test
  void anEventWaitsNoLongerThanItsTime() {
    StreamRun run = run(StreamProgram.Miss.WAIT, 60 * SECOND, NEVER);
    run.batch(START, put(ORDER, 1L, 5L));
    run.batch(START + SECOND, put(ORDER, 2L, 5L));

    assertEquals(
        List.of("orders {\"id\":1} {\"id\":1,\"name\":null,\"again\":false}"),
        told(run.batch(START + 60 * SECOND)));
    assertEquals(
        List.of("orders {\"id\":2} {\"id\":2,\"name\":\"Ada\",\"again\":false}"),
        told(run.batch(START + 61 * SECOND, put(CUSTOMER, 5L, "Ada", null))));
    run.batch(START + 62 * SECOND, delete(CUSTOMER, 5L, null, null));
  }

  @Test
  void aChangedRowSendsEachRecentEventAgainOnce() {
    StreamRun run = run(StreamProgram.Miss.NULL, 0, 60 * SECOND);
    run.batch(START, put(CUSTOMER, 5L, "Ada", null), put(ORDER, 1L, 5L));
    List<StreamRun.Sent> first = run.batch(START + SECOND, put(ORDER, 2L, 5L));

    List<StreamRun.Sent> again =
        run.batch(
            START + 2 * SECOND,
            put(CUSTOMER, 5L, "A", null),
            put(CUSTOMER, 5L, "Grace", null),
            put(ORDER, 3L, 5L));

    assertEquals(
        List.of(
            "orders {\"id\":1} {\"id\":1,\"name\":\"Grace\",\"again\":true}",
            "orders {\"id\":2} {\"id\":2,\"name\":\"Grace\",\"again\":true}",
            "orders {\"id\":3} {\"id\":3,\"name\":\"Grace\",\"again\":false}"),
        told(again));
    assertTrue(again.get(1).version() > first.get(0).version());
  }

  @Test
  void aChangeThatLeavesTheFieldsAsTheyAreSendsNothing() {
    StreamRun run = run(StreamProgram.Miss.NULL, 0, 60 * SECOND);
    run.batch(START, put(CUSTOMER, 5L, "Ada", 1L), put(ORDER, 1L, 5L));

    assertEquals(List.of(), run.batch(START + SECOND, put(CUSTOMER, 5L, "Ada", 2L)));
  }

  @Test
  void anEventIsNotSentAgainOnceItsTimeIsOver() {
    StreamRun run = run(StreamProgram.Miss.NULL, 0, 60 * SECOND);
    run.batch(START, put(CUSTOMER, 5L, "Ada", null), put(ORDER, 1L, 5L));
    run.batch(START + 30 * SECOND, put(ORDER, 2L, 5L));

    assertEquals(
        List.of("orders {\"id\":2} {\"id\":2,\"name\":\"Grace\",\"again\":true}"),
        told(run.batch(START + 60 * SECOND, put(CUSTOMER, 5L, "Grace", null))));
    assertEquals(
        List.of(), run.batch(START + 120 * SECOND, put(CUSTOMER, 5L, "Ada", null)));
  }

  @Test
  void aRowThatComesSendsAgainWhatMissedIt() {
    StreamRun run = run(StreamProgram.Miss.NULL, 0, 60 * SECOND);
    run.batch(START, put(ORDER, 1L, 5L));

    assertEquals(
        List.of("orders {\"id\":1} {\"id\":1,\"name\":\"Ada\",\"again\":true}"),
        told(run.batch(START + SECOND, put(CUSTOMER, 5L, "Ada", null))));
  }

  @Test
  void periodicCorrectionsGoOnceInAWhileWithTheRowOfThen() {
    StreamRun run =
        new StreamRun(
            StreamSample.oneLookup(StreamProgram.Miss.NULL, 0, 90 * SECOND, 60 * SECOND), 7);
    long minute = START / (60 * SECOND) * (60 * SECOND) + 60 * SECOND;
    run.batch(minute, put(CUSTOMER, 5L, "Ada", null), put(ORDER, 1L, 5L));

    assertEquals(List.of(), run.batch(minute + SECOND, put(CUSTOMER, 5L, "A", null)));
    assertEquals(List.of(), run.batch(minute + 59 * SECOND, put(CUSTOMER, 5L, "Grace", null)));
    assertEquals(
        List.of("orders {\"id\":1} {\"id\":1,\"name\":\"Grace\",\"again\":true}"),
        told(run.batch(minute + 60 * SECOND)));
    assertEquals(List.of(), run.batch(minute + 100 * SECOND, put(CUSTOMER, 5L, "Eve", null)));
    assertEquals(
        List.of("orders {\"id\":1} {\"id\":1,\"name\":\"Eve\",\"again\":true}"),
        told(run.batch(minute + 120 * SECOND)));
    run.batch(minute + 130 * SECOND, put(CUSTOMER, 5L, "Zoe", null));
    assertEquals(List.of(), run.batch(minute + 180 * SECOND));
  }

  @Test
  void allAreComparedOnceMoreBeforeTheyAreForgottenHoweverManyThereAre() {
    StreamRun run =
        new StreamRun(
            StreamSample.oneLookup(StreamProgram.Miss.NULL, 0, 50 * SECOND, 60 * SECOND), 7);
    long minute = START / (60 * SECOND) * (60 * SECOND) + 60 * SECOND;
    List<StreamRun.Input> orders = new ArrayList<>(List.of(put(CUSTOMER, 5L, "Ada", null)));
    for (long i = 0; i < 10_000; i++) {
      orders.add(put(ORDER, i, 5L));
    }
    run.batch(minute, orders.toArray(new StreamRun.Input[0]));
    run.batch(minute + SECOND, put(CUSTOMER, 5L, "Eve", null));

    assertEquals(10_000, run.batch(minute + 60 * SECOND).size());

    run.batch(minute + 61 * SECOND, put(CUSTOMER, 5L, "Zoe", null));
    assertEquals(List.of(), run.batch(minute + 120 * SECOND));
  }

  @Test
  void aCorrectionIsNotPutOffByEventsThatKeepComing() {
    StreamRun run =
        new StreamRun(
            StreamSample.oneLookup(StreamProgram.Miss.NULL, 0, 600 * SECOND, 60 * SECOND), 7);
    long minute = START / (60 * SECOND) * (60 * SECOND) + 60 * SECOND;
    run.batch(minute, put(CUSTOMER, 5L, "Ada", null), put(ORDER, 1L, 5L));

    assertEquals(
        List.of(
            "orders {\"id\":1} {\"id\":1,\"name\":\"Grace\",\"again\":true}",
            "orders {\"id\":2} {\"id\":2,\"name\":\"Grace\",\"again\":false}"),
        told(
            run.batch(
                minute + 60 * SECOND, put(CUSTOMER, 5L, "Grace", null), put(ORDER, 2L, 5L))));
    run.batch(minute + 90 * SECOND, put(CUSTOMER, 5L, "Eve", null), put(ORDER, 3L, 5L));
    assertEquals(
        List.of(
            "orders {\"id\":1} {\"id\":1,\"name\":\"Eve\",\"again\":true}",
            "orders {\"id\":2} {\"id\":2,\"name\":\"Eve\",\"again\":true}"),
        told(run.batch(minute + 120 * SECOND)));
  }

  @Test
  void anEventIsNotForgottenBeforeItsLastCorrectionWhereAnotherWaits() {
    StreamRun run =
        new StreamRun(
            StreamSample.oneLookup(StreamProgram.Miss.WAIT, 54 * SECOND, 50 * SECOND, 60 * SECOND), 7);
    long minute = START / (60 * SECOND) * (60 * SECOND) + 60 * SECOND;
    run.batch(minute, put(CUSTOMER, 5L, "Ada", null), put(ORDER, 1L, 5L));
    run.batch(minute + SECOND, delete(CUSTOMER, 5L, null, null), put(ORDER, 2L, 5L));

    assertEquals(
        List.of("orders {\"id\":2} {\"id\":2,\"name\":null,\"again\":false}"),
        told(run.batch(minute + 55 * SECOND)));
    assertEquals(
        List.of("orders {\"id\":1} {\"id\":1,\"name\":null,\"again\":true}"),
        told(run.batch(minute + 60 * SECOND)));
  }

  @Test
  void correctionsGoOnAfterAllThatWasRememberedWasForgotten() {
    StreamRun run =
        new StreamRun(
            StreamSample.oneLookup(StreamProgram.Miss.NULL, 0, 10 * SECOND, 60 * SECOND), 7);
    long minute = START / (60 * SECOND) * (60 * SECOND) + 60 * SECOND;
    run.batch(minute, put(CUSTOMER, 5L, "Ada", null), put(ORDER, 1L, 5L));
    run.batch(minute + 60 * SECOND);
    run.batch(minute + 61 * SECOND, put(ORDER, 2L, 5L));
    run.batch(minute + 62 * SECOND, put(CUSTOMER, 5L, "Eve", null));

    assertEquals(
        List.of("orders {\"id\":2} {\"id\":2,\"name\":\"Eve\",\"again\":true}"),
        told(run.batch(minute + 120 * SECOND)));
    assertEquals(1, run.kept());
  }

  @Test
  void whatStoodWhenARowWentIsComparedWithTheRowThatComesBack() {
    StreamRun run = run(StreamProgram.Miss.DROP, 0, 60 * SECOND);
    run.batch(START, put(CUSTOMER, 5L, "Ada", null), put(ORDER, 1L, 5L));

    assertEquals(List.of(), run.batch(START + 1, delete(CUSTOMER, 5L, null, null)));
    assertEquals(List.of(), run.batch(START + 2, put(CUSTOMER, 5L, "Ada", null)));
    assertEquals(
        List.of("orders {\"id\":1} {\"id\":1,\"name\":\"Eve\",\"again\":true}"),
        told(run.batch(START + 3, put(CUSTOMER, 5L, "Eve", null))));
  }

  @Test
  void whatIsRememberedIsForgottenInTheEnd() {
    StreamRun run = run(StreamProgram.Miss.NULL, 0, 60 * SECOND);
    for (int i = 0; i < 600; i++) {
      run.batch(START + i * SECOND / 10, put(ORDER, (long) i, 5L));
    }

    run.batch(START + 200 * SECOND);

    assertEquals(0, run.kept());
  }

  @Test
  void aHundredThousandRecentEventsAreSentAgain() {
    StreamRun run = run(StreamProgram.Miss.NULL, 0, 600 * SECOND);
    List<StreamRun.Input> orders = new ArrayList<>();
    for (long i = 0; i < 100_000; i++) {
      orders.add(put(ORDER, i, 5L));
    }
    run.batch(START, orders.toArray(new StreamRun.Input[0]));

    List<StreamRun.Sent> again = run.batch(START + SECOND, put(CUSTOMER, 5L, "Ada", null));

    assertEquals(100_000, again.stream().map(StreamRun.Sent::key).distinct().count());
    assertEquals(100_000, again.size());
  }

  @Test
  void aCorrectionGoesThroughTheLookupsBehindIt() {
    StreamRun run = new StreamRun(StreamSample.twoLookups(StreamProgram.Miss.NULL, 60 * SECOND), 7);
    run.batch(START, put(CUSTOMER, 5L, "Ada", 1L), put(CITY, 1L, "Paris"), put(CITY, 2L, "Rome"));

    assertEquals(
        List.of("orders {\"id\":1} {\"name\":\"Ada\",\"city\":\"Paris\"}"),
        told(run.batch(START + 1, put(ORDER, 1L, 5L))));
    assertEquals(
        List.of("orders {\"id\":1} {\"name\":\"Ada\",\"city\":\"Rome\"}"),
        told(run.batch(START + 2, put(CUSTOMER, 5L, "Ada", 2L))));
  }

  @Test
  void aCorrectionThatMeetsNoRowIsDroppedLikeAnyEvent() {
    StreamRun run = new StreamRun(StreamSample.twoLookups(StreamProgram.Miss.DROP, 60 * SECOND), 7);
    run.batch(
        START, put(CUSTOMER, 5L, "Ada", 1L), put(CITY, 1L, "Paris"), put(ORDER, 1L, 5L));

    assertEquals(List.of(), run.batch(START + 1, put(CUSTOMER, 5L, "Ada", 9L)));
  }

  @Test
  void aBatchThatRunsAgainSendsTheSame() {
    List<List<String>> sent = new ArrayList<>();
    for (int seed = 0; seed < 3; seed++) {
      StreamRun run = new StreamRun(
          StreamSample.oneLookup(StreamProgram.Miss.WAIT, 10 * SECOND, 60 * SECOND), seed);
      List<String> all = new ArrayList<>();
      for (int batch = 0; batch < 40; batch++) {
        StreamRun.Input[] inputs = {
          put(ORDER, (long) batch, (long) (batch % 7)),
          put(CUSTOMER, (long) (batch * 5 % 11), "name " + batch, null)
        };
        run.batch(START + batch * SECOND, inputs)
            .forEach(each -> all.add(each + " " + each.version()));
      }
      sent.add(all);
    }

    assertEquals(1, sent.stream().distinct().count());
    assertTrue(sent.get(0).size() > 40);
    assertTrue(sent.get(0).stream().anyMatch(each -> each.contains("true")));
  }
}
