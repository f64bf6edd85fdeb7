package dev.joinery.kernel.state;

import dev.joinery.kernel.bytes.Address;
import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.BiConsumer;

/**
 * What one task's share of a level's state may forget, by the time from which on: deletes by the
 * clock, windows by the watermark of their relation.
 *
 * <p>A delete or a window is noted in a list of a few, and a list stands under an address of its
 * own, beside the state it tells of. Lists are kept by period, a thirty-second of the retention, or
 * of a shorter span that a note is about; a head holds the number of lists of each period, some of
 * which may not be there yet, and the highest number that was forgotten. So a note costs one small
 * write, a task one small read, and nothing is ever searched for. A task that tells when it ends
 * ({@link #writingAtEnd}) writes a list once it is full, or at the end.
 *
 * <p>Each message that is handled pays for two notes whose time has come. So state never holds much
 * more than what was noted within the retention, and no batch has much more to do than its
 * messages ask for, however much is due at once.
 *
 * <p>No delete is forgotten in the batch that noted it: in real-time mode, messages about it may
 * still be under way.
 *
 * <p>Invariant: what is forgotten here was over for its node before, so when it goes alters nothing
 * that is sent.
 */
public final class Expiry {
  static final int LIST_BYTES = 128;
  /** Of a list that is written once. */
  private static final int WHOLE_LIST_BYTES = 2048;
  private static final int LISTS_AT_ONCE = 16;
  private static final int PERIODS = 32;
  private static final long LEAST_PERIOD_MICROS = 1_000_000;
  private static final int NOTES_A_MESSAGE = 2;
  private static final int WIDER = 4;
  private static final long LONG_PERIOD_MICROS = 1L << 45;

  /** Bytes under addresses, all of one task; an address never put, or removed, gives null. */
  public interface Store {
    byte[] get(byte[] address);

    void put(byte[] address, byte[] bytes);

    void remove(byte[] address);
  }

  /** Forgets what is over of one address. */
  public interface Forgetting {
    void expire(byte[] address, List<Slice> entries, long timestamp);
  }

  private record Note(Slice address, Slice entry) {}

  private final Store store;
  private final int number;
  private final long periodMicros;
  private final TreeMap<Long, Integer> lists = new TreeMap<>();
  private final Set<Note> fresh = new HashSet<>();
  private final Map<Long, OpenList> open = new HashMap<>();
  private long highest;
  private long before;
  private boolean waits;
  private boolean headWaits;

  /** What was forgotten before it was paid for: lists are taken whole. */
  private int owed;

  /** A list that is still written to, and how many more are already counted in the head. */
  private static final class OpenList {
    private final ByteWriter bytes = new ByteWriter(LIST_BYTES * 2);
    private int number;
    private int left;
  }

  /** Of deletes. */
  public Expiry(Store store, long retentionMicros) {
    this(store, Address.EXPIRY, retentionMicros);
  }

  /** {@code number} is a node's that no program has: notes stand under its addresses. */
  public Expiry(Store store, int number, long retentionMicros) {
    this.store = store;
    this.number = number;
    this.periodMicros = Math.max(retentionMicros / PERIODS, LEAST_PERIOD_MICROS);
    byte[] head = store.get(headOf(number));
    if (head != null) {
      ByteReader in = new ByteReader(head);
      highest = in.readLong();
      before = highest;
      while (in.hasMore()) {
        lists.put(in.readLong(), in.readVarInt());
      }
    }
  }

  /** Leaves writing to {@link #write}, which the task calls once its messages have been taken. */
  public Expiry writingAtEnd() {
    waits = true;
    return this;
  }

  /** Writes what waits; from now on each note is written as it is made. */
  public void write() {
    if (waits) {
      waits = false;
      open.forEach(this::writeList);
      open.clear();
      if (headWaits) {
        writeHead();
      }
    }
  }

  /** The highest epoch or version that was forgotten: what starts over stands above it. */
  public long highest() {
    return highest;
  }

  /** The same as of before the task. */
  public long highestBefore() {
    return before;
  }

  /** While notes are looked at: what had been given numbers up to this is forgotten. */
  public void forgotten(long number) {
    highest = Math.max(highest, number);
  }

  /** Has an entry of an address looked at after a time, in some later batch. */
  public void note(byte[] address, Slice entry, long timestamp) {
    note(address, entry, timestamp, Long.MAX_VALUE);
  }

  /** The same, where that is not to be later than a thirty-second of a span, at least a second. */
  public void note(byte[] address, Slice entry, long timestamp, long spanMicros) {
    fresh.add(new Note(Slice.of(address), entry.detach()));
    long period = Math.max(spanMicros / PERIODS, LEAST_PERIOD_MICROS);
    append(address, entry, timestamp, Math.min(period, periodMicros));
  }

  /** The same of a time that cannot come within this batch. */
  public void noteLater(byte[] address, Slice entry, long timestamp) {
    append(address, entry, timestamp, periodMicros);
  }

  private void append(byte[] address, Slice entry, long timestamp, long micros) {
    append(address, entry, endOf(timestamp, micros));
  }

  private static long endOf(long timestamp, long micros) {
    return (Math.floorDiv(timestamp, micros) + 1) * micros;
  }

  private void append(byte[] address, Slice entry, long period) {
    OpenList list = open.computeIfAbsent(period, each -> new OpenList());
    if (list.bytes.size() == 0) {
      begin(list, period);
    } else if (list.bytes.size() >= (waits ? WHOLE_LIST_BYTES : LIST_BYTES)) {
      if (waits) {
        writeList(period, list);
      }
      begin(list, period);
    }
    list.bytes.writeBlob(address).writeBlob(entry);
    if (!waits) {
      writeList(period, list);
    }
  }

  private void writeList(long period, OpenList list) {
    store.put(listOf(number, period, list.number), list.bytes.toBytes());
  }

  /** Takes the next list of those that the head counts; counts several more if there is none. */
  private void begin(OpenList list, long period) {
    list.bytes.reset();
    list.number++;
    if (list.left-- == 0) {
      int more = waits ? 1 : LISTS_AT_ONCE;
      list.number = lists.getOrDefault(period, 0);
      list.left = more - 1;
      lists.put(period, list.number + more);
      writeHead();
    }
  }

  /** Looks at what is due, as far as the messages that are handled now pay for it. */
  public void advance(long timestamp, int messages, Forgetting forgetting) {
    if (lists.isEmpty() || lists.firstKey() > timestamp) {
      return;
    }
    owed -= messages * NOTES_A_MESSAGE;
    while (owed < 0 && !lists.isEmpty() && lists.firstKey() <= timestamp) {
      Map<Slice, List<Slice>> due = new LinkedHashMap<>();
      for (Note note : takeList(lists.firstKey())) {
        owed++;
        if (fresh.contains(note)) {
          append(note.address().toBytes(), note.entry(), timestamp, periodMicros);
        } else {
          due.computeIfAbsent(note.address(), each -> new ArrayList<>(1)).add(note.entry());
        }
      }
      due.forEach((address, entries) -> forgetting.expire(address.toBytes(), entries, timestamp));
    }
    owed = Math.max(owed, 0);
    writeHead();
  }

  /**
   * Takes all notes of times up to one, whatever they cost; each note says its time in its entry.
   *
   * <p>Of a period that is over in part the rest goes into shorter ones. A period is the longer the
   * further off it is, so there are few of them, and a note is written again once or twice, and once
   * for each length that it was put off by, however many times are asked for.
   */
  public void takeUpTo(long time, BiConsumer<byte[], Slice> taking) {
    long widest = microsOf(WIDER) + WIDER;
    long last = time > Long.MAX_VALUE - widest ? Long.MAX_VALUE : time + widest;
    for (long period : List.copyOf(lists.headMap(last, true).keySet())) {
      if (beginningOf(period) <= time) {
        takeUpTo(time, period, taking);
        writeHead();
      }
    }
  }

  private void takeUpTo(long time, long period, BiConsumer<byte[], Slice> taking) {
    List<Note> stay = new ArrayList<>();
    while (lists.containsKey(period)) {
      for (Note note : takeList(period)) {
        long at = timeIn(note.entry());
        if (at <= time) {
          taking.accept(note.address().toBytes(), note.entry());
        } else if (laterPeriod(at, time) == period) {
          stay.add(note);
        } else {
          append(note.address().toBytes(), note.entry(), laterPeriod(at, time));
        }
      }
    }
    stay.forEach(each -> append(each.address().toBytes(), each.entry(), period));
  }

  /** Of a note that was not taken yet when its period was looked at. */
  private long laterPeriod(long at, long time) {
    return left(at, time) < periodMicros ? endOf(at, shorter()) : periodOf(at, time);
  }

  private long shorter() {
    return Math.max(periodMicros / PERIODS, LEAST_PERIOD_MICROS);
  }

  /** How long a period is that is a number of times longer than others. */
  private long microsOf(int wider) {
    long micros = periodMicros;
    for (int i = 0; i < wider && micros < LONG_PERIOD_MICROS; i++) {
      micros *= PERIODS;
    }
    return micros;
  }

  private static long left(long at, long time) {
    return at - time < 0 ? Long.MAX_VALUE : at - time; // A time that is not known is below all.
  }

  /** The period of a time that is so far off; a longer one has a number that says how long it is. */
  private long periodOf(long at, long time) {
    int wider = 0;
    while (wider < WIDER && left(at, time) >= microsOf(wider + 1)) {
      wider++;
    }
    return endOf(at, microsOf(wider)) + wider;
  }

  /** The first time that a note of a period may have. */
  private long beginningOf(long period) {
    long number = Math.floorMod(period, periodMicros);
    if (number > WIDER) {
      return period - shorter();
    }
    return period - number - microsOf((int) number);
  }

  /** Of an entry for {@link #takeUpTo}. */
  public static long timeIn(Slice entry) {
    return new ByteReader(entry).readLong();
  }

  /**
   * What {@link #takeUpTo} takes for an address once it is asked for a time.
   *
   * @param now up to when notes were taken, or anything below
   */
  public void noteTime(byte[] address, long time, long now) {
    Slice entry = Slice.of(new ByteWriter(Long.BYTES).writeLong(time).toBytes());
    append(address, entry, periodOf(time, now));
  }

  private List<Note> takeList(long period) {
    OpenList unwritten = open.remove(period);
    if (waits && unwritten != null) {
      writeList(period, unwritten);
    }
    int last = lists.get(period) - 1;
    byte[] address = listOf(number, period, last);
    byte[] list = store.get(address);
    List<Note> notes = new ArrayList<>();
    if (list != null) {
      ByteReader in = new ByteReader(list);
      while (in.hasMore()) {
        notes.add(new Note(in.readBlob(), in.readBlob()));
      }
      store.remove(address);
    }
    if (last == 0) {
      lists.remove(period);
    } else {
      lists.put(period, last);
    }
    return notes;
  }

  private void writeHead() {
    headWaits = waits;
    if (!waits) {
      store.put(headOf(number), head(highest, lists));
    }
  }

  /** What a head is: the highest number that was forgotten, and how many lists a period has. */
  static byte[] head(long highest, Map<Long, Integer> lists) {
    ByteWriter out = new ByteWriter(16 + lists.size() * 12).writeLong(highest);
    lists.forEach((period, count) -> out.writeLong(period).writeVarInt(count));
    return out.toBytes();
  }

  /** The address of the head of notes. */
  static byte[] headOf(int number) {
    return Address.of(number, new byte[0]);
  }

  /** The address of one of their lists. */
  static byte[] listOf(int number, long period, int list) {
    return Address.of(number, new ByteWriter(12).writeLong(period).writeVarInt(list).toBytes());
  }
}
