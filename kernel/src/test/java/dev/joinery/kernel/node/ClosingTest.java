package dev.joinery.kernel.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.joinery.kernel.bytes.Address;
import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.Marks;
import dev.joinery.kernel.message.Message;
import dev.joinery.kernel.message.Outbox;
import dev.joinery.kernel.program.Program;
import dev.joinery.kernel.state.MemoryState;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import scala.Tuple2;

/** Deadlines against a plain list that is looked through as a whole. */
class ClosingTest {
  private static final int TARGET = 3;
  private static final long DELAY = 10;
  private static final Slice BUCKET = Slice.of(new byte[] {1});

  private Set<Long> idle = Set.of();
  private long others = Marks.UNKNOWN;
  private Closing closing = closing(false);
  private MemoryState state = new MemoryState();

  private Closing closing(boolean ofRows) {
    return new Closing(
        0,
        new Program.ClosingProgram("p", 1, 0, TARGET, DELAY, 0, 1, true, 1, null),
        () -> idle,
        () -> others,
        ofRows);
  }

  /** The watermark that each address is told. */
  private Map<Integer, Long> batch(List<byte[]> messages) {
    Outbox outbox = new Outbox();
    closing.handle(BUCKET, messages, state, outbox);
    return told(outbox);
  }

  /** The same in a batch that brings nothing. */
  private Map<Integer, Long> wake() {
    Outbox outbox = new Outbox();
    closing.wake(Slice.EMPTY, 2, state, outbox);
    return told(outbox);
  }

  private static Map<Integer, Long> told(Outbox outbox) {
    Map<Integer, Long> told = new TreeMap<>();
    while (outbox.hasNext()) {
      Tuple2<byte[], byte[]> each = outbox.next();
      assertEquals(TARGET, Address.nodeOf(each._2()));
      assertEquals(Message.CLOSED, Message.kind(each._1()));
      int key = new ByteReader(Address.keyOf(each._2())).readInt();
      told.put(key, Message.body(each._1()).readLong());
    }
    return told;
  }

  private static byte[] deadline(int key, long at) {
    return Message.deadline(1, at, new ByteWriter(4).writeInt(key).toBytes());
  }

  private static byte[] newest(long partition, long time) {
    Marks marks = new Marks();
    marks.add(partition, 0, 0, time);
    return Message.watermark(1, marks);
  }

  @Test
  void anAddressIsToldOnceThePartitionThatIsFurthestBackHasReachedItsDeadline() {
    assertEquals(Map.of(), batch(List.of(deadline(7, 90), newest(0, 200), newest(1, 99))));
    assertEquals(Map.of(), batch(List.of(newest(0, 300))));
    assertEquals(Map.of(7, 90L), batch(List.of(newest(1, 100))));
    assertEquals(Map.of(), batch(List.of(newest(1, 101))));
    assertEquals(Map.of(7, 91L), batch(List.of(deadline(7, 90))));
  }

  @Test
  void aPartitionThatIsNewHoldsUpWhatComesAndTakesNothingBack() {
    assertEquals(Map.of(7, 190L), batch(List.of(deadline(7, 90), newest(0, 200))));
    assertEquals(Map.of(8, 190L), batch(List.of(deadline(8, 190), newest(1, 50))));
    assertEquals(Map.of(), batch(List.of(deadline(9, 191), newest(0, 500))));
    assertEquals(Map.of(9, 490L), batch(List.of(newest(1, 500))));
  }

  @Test
  void aPartitionThatIsIdleHoldsNobodyUpUntilItIsHeardOfAgain() {
    assertEquals(Map.of(), batch(List.of(deadline(7, 90), newest(0, 200), newest(1, 50))));
    assertEquals(Map.of(), wake());
    idle = Set.of(1L);
    assertEquals(Map.of(7, 190L), wake());
    assertEquals(Map.of(), batch(List.of(newest(0, 300), newest(1, 60), deadline(8, 200))));
    idle = Set.of(0L, 1L);
    assertEquals(Map.of(), batch(List.of(deadline(9, 195))));
    idle = Set.of(1L);
    assertEquals(Map.of(8, 290L, 9, 290L), wake());
  }

  @Test
  void whileAllPartitionsAreIdleTheOtherRelationCounts() {
    assertEquals(Map.of(), batch(List.of(deadline(7, 90), deadline(8, 900))));
    others = 100;
    assertEquals(Map.of(7, 100L), wake());
    others = Marks.UNKNOWN;
    assertEquals(Map.of(9, 100L), batch(List.of(newest(0, 50), deadline(9, 95))));
    assertEquals(Map.of(8, 990L), batch(List.of(newest(0, 1000))));
  }

  @Test
  void addressesAreToldInTheBatchInWhichAListThatIsLookedThroughWouldTellThem() {
    for (int seed = 0; seed < 200; seed++) {
      state = new MemoryState();
      Random random = new Random(seed);
      Map<Long, Long> newest = new HashMap<>();
      Map<Integer, Long> waiting = new HashMap<>();
      long watermark = Marks.UNKNOWN;
      for (int batch = 0; batch < 20; batch++) {
        List<byte[]> messages = new ArrayList<>();
        TreeSet<Integer> expected = new TreeSet<>();
        for (int i = random.nextInt(400); i > 0; i--) {
          int key = random.nextInt(2_000);
          waiting.put(key, key / 3L);
          messages.add(deadline(key, key / 3L));
        }
        for (int i = random.nextInt(3); i > 0; i--) {
          long partition = random.nextInt(2);
          long time = random.nextInt(batch * 40 + 1);
          newest.merge(partition, time, Math::max);
          messages.add(newest(partition, time));
        }
        if (!newest.isEmpty()) {
          watermark = Math.max(watermark, Collections.min(newest.values()) - DELAY);
        }
        long reached = watermark;
        waiting.forEach((key, at) -> {
          if (at <= reached) {
            expected.add(key);
          }
        });
        waiting.keySet().removeAll(expected);
        Collections.shuffle(messages, random);
        if (!messages.isEmpty()) {
          assertEquals(expected, batch(messages).keySet(), "seed " + seed + ", batch " + batch);
        }
        state = state.copy();
      }
    }
  }

  @Test
  void onceAllLogsHaveEndedWhateverWaitsIsToldAndToldAgainWithEachMessageAboutIt() {
    assertEquals(Map.of(), batch(List.of(deadline(7, 500), newest(0, 100))));
    assertEquals(Map.of(7, 90L, 8, 90L), batch(List.of(Message.ended(1), deadline(8, 600))));
    assertEquals(Map.of(), batch(List.of(Message.ended(1))));
    assertEquals(Map.of(7, 90L), batch(List.of(deadline(7, 500), deadline(9, 500))));
    assertEquals(Map.of(), batch(List.of(newest(0, 509))));
    assertEquals(Map.of(9, 500L), batch(List.of(newest(0, 510))));
    assertEquals(Map.of(8, 600L), batch(List.of(newest(0, 610), deadline(8, 600))));
  }

  @Test
  void whereDeadlinesAreThoseOfRowsAnotherRowWaitsForThatOfOneThatHasEnded() {
    closing = closing(true);
    assertEquals(Map.of(), batch(List.of(deadline(7, 500), newest(0, 100))));
    assertEquals(Map.of(7, 90L), batch(List.of(Message.ended(1))));
    assertEquals(Map.of(), batch(List.of(deadline(7, 500))));
    assertEquals(Map.of(7, 500L), batch(List.of(newest(0, 510))));
    assertEquals(Map.of(), batch(List.of(newest(0, 600))));
  }

  @Test
  void moreThanFitsInOneStepEndsInOneBatch() {
    List<byte[]> messages = new ArrayList<>();
    for (int key = 0; key < 20_000; key++) {
      messages.add(deadline(key, key));
    }
    batch(messages);

    assertEquals(20_000, batch(List.of(Message.ended(1))).size());
    assertEquals(3, batch(List.of(deadline(1, 1), deadline(2, 2), deadline(19_999, 19_999))).size());
    assertEquals(0, batch(List.of(newest(0, 30_000))).size());
  }

  @Test
  void whatIsDueCostsWhatItIsHoweverMuchWaits() {
    int alive = 200_000;
    List<byte[]> messages = new ArrayList<>();
    for (int key = 0; key < alive; key++) {
      messages.add(deadline(key, 1_000 + key));
    }
    batch(messages);
    state.resetCounts();

    Map<Integer, Long> told = batch(List.of(newest(0, 1_099 + DELAY)));

    assertEquals(100, told.size());
    assertTrue(state.pageReads <= 2, state.pageReads + " pages");
    assertTrue(state.bytesWritten() < 50_000, state.bytesWritten() + " bytes");
  }
}
