package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.Message;
import dev.joinery.kernel.message.PartialByTime;
import dev.joinery.kernel.program.GroupProgram;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;

/**
 * What a task's rows add to the groups of one Group: remembers it by group until it is sent, a
 * message a group however many rows it has.
 *
 * <p>A row that several windows hold is added to its slice once; only what the slice adds up to
 * goes to the windows. A row some of whose windows are forgotten is added to each of the others.
 */
final class Partials {
  private static final int MOST = 1 << 16;

  private final GroupKey keys;
  private final Windows windows;
  private final GroupProgram program;
  private final Aggregates aggregates;
  private final ByteWriter out = new ByteWriter(128);
  private Map<Slice, Partial> bySlice = new LinkedHashMap<>();
  private Map<Slice, Partial> byWindow = new LinkedHashMap<>();

  /** Rows that came less those that went, and the aggregates over them. */
  private static final class Partial {
    private final Slice by;
    private final long slice;
    private final Aggregates aggregates;
    private long first = Long.MAX_VALUE;
    private long last = Long.MIN_VALUE;
    private long rows;

    Partial(Slice by, long slice, Aggregates aggregates) {
      this.by = by;
      this.slice = slice;
      this.aggregates = aggregates;
    }
  }

  /** {@code windows} is null where the time alone does not tell them, or there are none. */
  Partials(
      GroupKey keys, Windows windows, GroupProgram program, Aggregates aggregates) {
    this.keys = keys;
    this.windows = windows;
    this.program = program;
    this.aggregates = aggregates;
  }

  boolean isFull() {
    return bySlice.size() + byWindow.size() >= MOST;
  }

  /**
   * Adds a row, or takes it back.
   *
   * @param by the code of the columns that it is grouped by
   * @param time of the row; any where groups have no window
   * @param place of the row in its log, where that tells anything
   */
  void add(byte[] by, long time, boolean comes, UnsafeRow row, Slice place) {
    long slice = sliceOf(time);
    Slice key = Slice.of(program.goesByTime() ? GroupKey.of(by, slice) : by);
    Partial partial = bySlice.get(key);
    if (partial == null) {
      partial = new Partial(Slice.of(by), slice, aggregates.fresh());
      bySlice.put(key, partial);
    }
    partial.first = Math.min(partial.first, time);
    partial.last = Math.max(partial.last, time);
    add(partial, comes, row, place);
  }

  /**
   * The same, but for windows that end at a time or before it, which are forgotten.
   *
   * @return whether any is left
   */
  boolean addAbove(
      long forgotten, byte[] by, long time, boolean comes, UnsafeRow row, Slice place) {
    boolean[] any = {false};
    windows.holding(
        time,
        (start, end) -> {
          if (end > forgotten) {
            any[0] = true;
            Slice key = Slice.of(keys.of(by, start, end));
            add(byWindow.computeIfAbsent(key, each -> fresh()), comes, row, place);
          }
        });
    return any[0];
  }

  private Partial fresh() {
    return new Partial(null, 0, aggregates.fresh());
  }

  private static void add(Partial partial, boolean comes, UnsafeRow row, Slice place) {
    if (comes) {
      partial.rows++;
      partial.aggregates.add(row, place);
    } else {
      partial.rows--;
      partial.aggregates.remove(row);
    }
  }

  /**
   * Rows of one slice are in the same windows; of sessions, in the same one, if none ever falls
   * apart.
   */
  private long sliceOf(long time) {
    if (program.session() != null && !program.session().divides()) {
      return Math.floorDiv(time, program.session().gapMicros());
    }
    if (program.isByKeyAlone()) {
      return time;
    }
    return windows == null ? 0 : windows.sliceOf(time);
  }

  /** Takes a message to a group, and the last time of what it tells. */
  interface Sending {
    void send(byte[] group, long last, byte[] message);
  }

  /** Gives each group's message, and forgets what it told. */
  void drain(long timestamp, Sending sending) {
    if (program.isByKeyAlone()) {
      bySlice.values().forEach(each -> drainByTime(each, timestamp, sending));
    } else {
      byGroup()
          .forEach(
              (key, partial) -> {
                byte[] message = Message.partial(timestamp, partial.rows, added(partial));
                sending.send(key.toBytes(), partial.last, message);
              });
    }
    bySlice = new LinkedHashMap<>();
    byWindow = new LinkedHashMap<>();
  }

  private Slice added(Partial partial) {
    partial.aggregates.write(out.reset());
    return new Slice(out.array(), 0, out.size());
  }

  private void drainByTime(Partial each, long timestamp, Sending sending) {
    PartialByTime told = new PartialByTime(each.first, each.last, each.rows, added(each));
    sending.send(each.by.array(), each.last, told.toBytes(timestamp));
  }

  private Map<Slice, Partial> byGroup() {
    if (windows == null) {
      return bySlice;
    }
    Map<Slice, Partial> groups = new LinkedHashMap<>(byWindow);
    for (Partial each : bySlice.values()) {
      windows.holding(
          each.slice,
          (start, end) -> {
            Slice key = Slice.of(keys.of(each.by.array(), start, end));
            Partial known = groups.putIfAbsent(key, each);
            if (known != null) {
              groups.put(key, merged(known, each));
            }
          });
    }
    return groups;
  }

  /** A slice may be in several groups, so what is merged is never one's own. */
  private Partial merged(Partial one, Partial other) {
    Partial both = one.by == null ? one : fresh();
    if (both != one) {
      both.rows = one.rows;
      both.aggregates.merge(one.aggregates);
    }
    both.rows += other.rows;
    both.aggregates.merge(other.aggregates);
    return both;
  }
}
