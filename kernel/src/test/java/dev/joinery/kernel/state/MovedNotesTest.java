package dev.joinery.kernel.state;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.joinery.kernel.bytes.Address;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Notes of two tasks, moved to three: each is told where its owner is. */
class MovedNotesTest {
  private static final long RETENTION = 32_000_000;
  private static final int NOTES = 500;

  private static final class Stored implements Expiry.Store {
    final Map<Slice, byte[]> bytes = new HashMap<>();

    @Override
    public byte[] get(byte[] address) {
      return bytes.get(Slice.of(address));
    }

    @Override
    public void put(byte[] address, byte[] value) {
      bytes.put(Slice.of(address), value);
    }

    @Override
    public void remove(byte[] address) {
      bytes.remove(Slice.of(address));
    }
  }

  private static byte[] owner(int number) {
    return Address.of(3, new ByteWriter(8).writeInt(number).toBytes());
  }

  private static int taskOf(byte[] owner, int tasks) {
    return Math.floorMod(owner[0], tasks);
  }

  private static List<Stored> stores(int tasks) {
    return Stream.generate(Stored::new).limit(tasks).toList();
  }

  /** Each note is one of an address's deletes by the clock, or of its rows by a watermark. */
  private static List<Stored> noted() {
    List<Stored> tasks = stores(2);
    for (int kind : List.of(Address.EXPIRY, Address.WINDOWS - 1)) {
      List<Expiry> expiries =
          tasks.stream().map(each -> new Expiry(each, kind, RETENTION)).toList();
      for (int i = 0; i < NOTES; i++) {
        byte[] owner = owner(i);
        Expiry expiry = expiries.get(taskOf(owner, 2));
        expiry.noteLater(owner, Slice.of(new byte[] {(byte) kind}), i * RETENTION / NOTES);
        expiry.forgotten(100 + taskOf(owner, 2));
      }
      // The heads are written again, with what was forgotten.
      expiries.forEach(each -> each.advance(1_000_000, 1, (address, entries, time) -> {}));
    }
    return tasks;
  }

  private static List<Stored> moved(List<Stored> from, int tasks) {
    List<Stored> to = stores(tasks);
    List<MovedNotes> notes = Stream.generate(MovedNotes::new).limit(tasks).toList();
    for (Stored each : from) {
      each.bytes.forEach(
          (place, bytes) -> {
            byte[] address = place.toBytes();
            assertTrue(Address.isOfNotes(address));
            if (MovedNotes.isHead(address)) {
              IntStream.range(0, tasks)
                  .forEach(task -> notes.get(task).take(address, bytes, to.get(task)::put));
              return;
            }
            for (MovedNotes.Note note : MovedNotes.apart(bytes)) {
              int task = taskOf(note.owner(), tasks);
              notes.get(task).take(address, note.list(), to.get(task)::put);
            }
          });
    }
    IntStream.range(0, tasks).forEach(task -> notes.get(task).finish(to.get(task)::put));
    return to;
  }

  private static String text(byte[] bytes) {
    return Arrays.toString(bytes);
  }

  private static List<String> told(Stored task, int kind, long time) {
    List<String> told = new ArrayList<>();
    new Expiry(task, kind, RETENTION)
        .advance(
            time,
            2 * NOTES,
            (address, entries, now) ->
                entries.forEach(each -> told.add(text(address) + text(each.toBytes()))));
    return told;
  }

  @Test
  void eachNoteIsToldInTheTaskOfItsOwnerWhenItsTimeHasCome() {
    for (int kind : List.of(Address.EXPIRY, Address.WINDOWS - 1)) {
      for (long time : List.of(RETENTION / 2, 2 * RETENTION)) {
        List<Stored> before = noted();
        List<Stored> after = moved(noted(), 3);
        List<String> expected = new ArrayList<>();
        before.forEach(each -> expected.addAll(told(each, kind, time)));

        List<String> found = new ArrayList<>();
        after.forEach(each -> found.addAll(told(each, kind, time)));

        assertEquals(new TreeSet<>(expected), new TreeSet<>(found));
        assertEquals(expected.size(), found.size());
      }
    }
  }

  @Test
  void nothingIsLeftOfNotesThatWereTold() {
    List<Stored> after = moved(noted(), 3);

    after.forEach(each -> told(each, Address.EXPIRY, 2 * RETENTION));
    after.forEach(each -> told(each, Address.WINDOWS - 1, 2 * RETENTION));

    after.forEach(each -> assertEquals(2, each.bytes.size(), "the two heads"));
  }

  @Test
  void whatBeginsAnewStandsAboveTheHighestNumberOfAllTasks() {
    for (Stored each : moved(noted(), 3)) {
      assertEquals(101, new Expiry(each, Address.EXPIRY, RETENTION).highest());
    }
  }

  @Test
  void notesThatComeAfterAMoveAreToldBesideThoseThatWereMoved() {
    Stored task = moved(noted(), 1).get(0);
    int before = told(moved(noted(), 1).get(0), Address.EXPIRY, 2 * RETENTION).size();
    Expiry expiry = new Expiry(task, Address.EXPIRY, RETENTION);

    for (int i = 0; i < NOTES; i++) {
      expiry.noteLater(owner(NOTES + i), Slice.EMPTY, i * RETENTION / NOTES);
    }

    assertEquals(before + NOTES, told(task, Address.EXPIRY, 2 * RETENTION).size());
  }
}
