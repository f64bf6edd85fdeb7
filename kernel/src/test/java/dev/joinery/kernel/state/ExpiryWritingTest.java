package dev.joinery.kernel.state;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.joinery.kernel.bytes.Address;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/** Notes that are written one by one, and those that are written at a task's end. */
class ExpiryWritingTest {
  private static final long SECOND = 1_000_000;
  private static final int OVER = 1_000;

  /** What is stored, and how often something was written. */
  private static final class Stored implements Expiry.Store {
    private final Map<Slice, byte[]> values = new HashMap<>();
    private int writes;

    @Override
    public byte[] get(byte[] address) {
      return values.get(Slice.of(address));
    }

    @Override
    public void put(byte[] address, byte[] bytes) {
      writes++;
      values.put(Slice.of(address), bytes);
    }

    @Override
    public void remove(byte[] address) {
      values.remove(Slice.of(address));
    }
  }

  private final Stored stored = new Stored();

  private Expiry task() {
    return new Expiry(stored, 32 * SECOND);
  }

  private static byte[] address(int number) {
    return new ByteWriter(32).writeInt(number).writeLong(number).writeLong(number).toBytes();
  }

  private static void note(Expiry expiry, int from, int to) {
    for (int i = from; i < to; i++) {
      expiry.noteLater(address(i), Slice.EMPTY, i * SECOND / 10);
    }
  }

  private static Set<Integer> due(Expiry expiry, long time, int messages) {
    Set<Integer> found = new TreeSet<>();
    expiry.advance(
        time,
        messages,
        (address, entries, now) -> found.add(java.nio.ByteBuffer.wrap(address).getInt()));
    return found;
  }

  @Test
  void aTaskWritesAListOnceAndLosesNoNote() {
    Expiry task = task().writingAtEnd();
    note(task, 0, OVER);
    assertEquals(0, stored.writes);
    task.write();

    assertTrue(stored.writes < OVER / 5, stored.writes + " writes");
    assertEquals(OVER, due(task(), OVER * SECOND, OVER).size());
    assertEquals(0, due(task(), OVER * SECOND, OVER).size());
  }

  @Test
  void whatIsDueBeforeTheEndIsTold() {
    Expiry task = task().writingAtEnd();
    note(task, 0, 20);

    assertEquals(20, due(task, OVER * SECOND, OVER).size());
    task.write();
    assertEquals(0, due(task(), OVER * SECOND, OVER).size());
  }

  @Test
  void aNoteOfATimerAfterTheEndIsWrittenAtOnce() {
    Expiry task = task().writingAtEnd();
    note(task, 0, 10);
    task.write();
    note(task, 10, 20);

    assertEquals(20, due(task(), OVER * SECOND, OVER).size());
  }

  @Test
  void aMessagePaysForTwoNotesWhateverTheListsHold() {
    Expiry task = task().writingAtEnd();
    for (int i = 0; i < OVER; i++) {
      task.noteLater(address(i), Slice.EMPTY, 0);
    }
    task.write();
    Expiry next = task();

    int told = 0;
    for (int i = 0; i < 100; i++) {
      told += due(next, OVER * SECOND, 1).size();
    }

    assertTrue(told >= 200 && told < 300, told + " notes");
  }

  /** Numbers of addresses, each of which waits for a time of its own. */
  private static void waitFor(Expiry expiry, Map<Integer, Long> times, long now) {
    times.forEach((number, time) -> expiry.noteTime(address(number), time, now));
  }

  private static Map<Integer, Long> upTo(Expiry expiry, long time) {
    Map<Integer, Long> found = new HashMap<>();
    expiry.takeUpTo(
        time,
        (address, entry) ->
            found.put(java.nio.ByteBuffer.wrap(address).getInt(), Expiry.timeIn(entry)));
    return found;
  }

  @Test
  void timesAreTakenOnceAndExactly() {
    Random random = new Random(7);
    long span = 40 * 32 * 32 * SECOND;
    Map<Integer, Long> waiting = new HashMap<>();
    long now = 0;
    for (int batch = 0; batch < 200; batch++) {
      Expiry task = new Expiry(stored, 32 * 32 * 32 * SECOND).writingAtEnd();
      now += (long) (random.nextDouble() * span / 100);
      long reached = now;
      Map<Integer, Long> due = new HashMap<>(waiting);
      due.values().removeIf(each -> each > reached);
      assertEquals(due, upTo(task, now), "batch " + batch);
      waiting.keySet().removeAll(due.keySet());
      Map<Integer, Long> more = new HashMap<>();
      for (int i = 0; i < 50; i++) {
        more.put(batch * 50 + i, now + 1 + (long) (random.nextDouble() * span));
      }
      waitFor(task, more, now);
      waiting.putAll(more);
      task.write();
    }

    assertEquals(waiting, upTo(new Expiry(stored, 32 * 32 * 32 * SECOND), Long.MAX_VALUE));
    assertEquals(Map.of(), upTo(new Expiry(stored, 32 * 32 * 32 * SECOND), Long.MAX_VALUE));
  }

  @Test
  void aNoteIsWrittenAgainTwiceHoweverManyTimesAreAskedFor() {
    long period = 32 * SECOND;
    Expiry first = new Expiry(stored, 32 * period);
    Map<Integer, Long> waiting = new HashMap<>();
    for (int i = 0; i < OVER; i++) {
      waiting.put(i, period / 2 + i * (period / 2 / OVER));
    }
    waitFor(first, waiting, 0);
    upTo(new Expiry(stored, 32 * period).writingAtEnd(), 0);
    stored.writes = 0;

    for (int i = 0; i < 100; i++) {
      Expiry task = new Expiry(stored, 32 * period).writingAtEnd();
      upTo(task, period / 4 + i);
      task.write();
    }

    assertTrue(stored.writes < OVER / 2, stored.writes + " writes");
  }

  @Test
  void howeverFarOffTimesAreTheyAreInFewPeriods() {
    Random random = new Random(3);
    long years = 3L * 365 * 86_400 * SECOND;
    Map<Integer, Long> waiting = new HashMap<>();
    for (int i = 0; i < 10_000; i++) {
      waiting.put(i, 1 + (long) (random.nextDouble() * years));
    }
    Expiry first = task().writingAtEnd();
    waitFor(first, waiting, Long.MIN_VALUE);
    first.write();

    int most = headBytes();
    for (long now = 0; !waiting.isEmpty(); now += years / 500) {
      long reached = now;
      Map<Integer, Long> due = new HashMap<>(waiting);
      due.values().removeIf(each -> each > reached);
      Expiry task = task().writingAtEnd();
      assertEquals(due, upTo(task, now));
      waiting.keySet().removeAll(due.keySet());
      task.write();
      most = Math.max(most, headBytes());
    }

    assertTrue(most < 3_000, most + " bytes");
    assertTrue(stored.writes < 10_000, stored.writes + " writes");
  }

  private int headBytes() {
    return stored.get(Expiry.headOf(Address.EXPIRY)).length;
  }
}
