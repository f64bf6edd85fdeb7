package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.Marks;
import dev.joinery.kernel.message.Message;
import dev.joinery.kernel.message.Outbox;
import dev.joinery.kernel.program.EventFoldProgram;
import dev.joinery.kernel.program.GroupProgram;
import dev.joinery.kernel.program.PatternProgram;
import dev.joinery.kernel.program.Program;
import dev.joinery.kernel.state.EntryMap;
import dev.joinery.kernel.state.OrderedMap;
import dev.joinery.kernel.state.State;
import dev.joinery.kernel.state.TimedMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/**
 * Remembers, for a share of the addresses of a later node, the deadlines that are still to come,
 * and how far each partition of a relation's log has come; tells an address the watermark once it
 * has reached a deadline of its own, and at each message about a deadline that it has passed.
 *
 * <p>Once it is told that all logs have ended, it tells all addresses that wait, and those again at
 * each message about them, as if their deadlines had passed; the watermark stays. Where a deadline is
 * a row's and not an address's own, as in sessions, patterns and folds, the address goes on to wait
 * for it: another row of that time may come to wait until then.
 *
 * <p>Partitions that the driver tells to be idle are left out. Where there may be any, it is called
 * in each batch while something waits, also in one that reads nothing: all shares hear of them in
 * the same batch.
 *
 * <p>So the node behind it hears in the batch in which it may send, whichever rows moved the
 * watermark, and need not remember whether it may: a deadline is told with every change of what it
 * is about. What a batch costs is what it tells and what comes due; what waits is not looked at.
 */
public final class Closing implements Node {
  /** How many addresses are told before what was sent to them is taken. */
  private static final int AT_ONCE = 4096;

  private final int node;
  private final Program.ClosingProgram program;
  private final Supplier<Set<Long>> idle;
  private final LongSupplier other;
  private final boolean ofRows;

  public Closing(int node, Program.ClosingProgram program, NodeContext context) {
    this(
        node,
        program,
        program.idles() ? new IdlePartitions(program.relation(), context) : Set::of,
        () -> otherWatermark(program, context),
        areOfRows(context.program().nodes().get(program.target())));
  }

  /**
   * @param idle gives the partitions that nobody waits for in the batch at hand
   * @param other gives the watermark of the other relation where nobody waits for this one at all,
   *     else {@link Marks#UNKNOWN}
   * @param ofRows whether deadlines are those of rows, of which an address may have several
   */
  Closing(
      int node,
      Program.ClosingProgram program,
      Supplier<Set<Long>> idle,
      LongSupplier other,
      boolean ofRows) {
    this.node = node;
    this.program = program;
    this.idle = idle;
    this.other = other;
    this.ofRows = ofRows;
  }

  private static boolean areOfRows(Program.NodeProgram target) {
    return target instanceof PatternProgram
        || target instanceof EventFoldProgram
        || target instanceof GroupProgram group && group.session() != null;
  }

  private static long otherWatermark(Program.ClosingProgram program, NodeContext context) {
    if (program.other() == null || !program.idles()) {
      return Marks.UNKNOWN;
    }
    List<Program.RelationProgram> relations = context.program().relations();
    BatchWatermarks told = BatchWatermarks.read(context.watermarks());
    long reached = told.of(relations.get(program.other()).name());
    if (reached == Marks.UNKNOWN || !told.isSilent(relations.get(program.relation()).name())) {
      return Marks.UNKNOWN;
    }
    return reached - (program.otherBehindMicros() == null ? 0 : program.otherBehindMicros());
  }

  @Override
  public void handle(Slice bucket, List<byte[]> messages, State state, Outbox outbox) {
    Marks marks = new Marks();
    TreeSet<Slice> told = new TreeSet<>();
    boolean ends = false;
    for (byte[] message : messages) {
      ByteReader in = Message.body(message);
      switch (Message.kind(message)) {
        case Message.WATERMARK -> marks.read(in);
        case Message.DEADLINE -> told.add(TimedMap.keyOf(in.readLong(), in.rest()));
        case Message.ENDED -> ends = true;
        default -> throw Message.unexpected(message);
      }
    }
    Memory memory = new Memory(state);
    memory.hear(marks.newest());
    long timestamp = Message.latest(messages);
    for (Slice place : told) {
      if (TimedMap.timeOf(place) > memory.watermark && (ofRows || !memory.hasEnded(place))) {
        memory.await(place);
      } else {
        send(place, memory.watermark, timestamp, outbox);
      }
    }
    finish(memory, ends, timestamp, state, outbox);
  }

  /** Called in the batch after one that left something waiting, where partitions may be idle. */
  @Override
  public void wake(Slice key, long timestamp, State state, Outbox outbox) {
    Memory memory = new Memory(state);
    memory.hear(Map.of());
    finish(memory, false, timestamp, state, outbox);
  }

  private void finish(
      Memory memory, boolean all, long timestamp, State state, Outbox outbox) {
    boolean takesAll = all && !ofRows;
    if (sendDue(memory, takesAll, timestamp, outbox)) {
      outbox.repeat(() -> sendMore(state, takesAll, timestamp, outbox));
    }
    if (all && ofRows) {
      outbox.repeat(new Walk(state, timestamp, outbox));
    }
    if (program.idles() && memory.waitsForTheIdle()) {
      state.wakeAt(timestamp + 1);
    }
    memory.write(state);
  }

  private boolean sendMore(State state, boolean all, long timestamp, Outbox outbox) {
    Memory memory = new Memory(state);
    boolean more = sendDue(memory, all, timestamp, outbox);
    memory.write(state);
    return more;
  }

  /** Tells addresses that wait no more; returns whether there may be others. */
  private boolean sendDue(Memory memory, boolean all, long timestamp, Outbox outbox) {
    List<EntryMap.Entry> due = memory.takeDue(all);
    for (EntryMap.Entry each : due) {
      send(each.key(), memory.watermark, timestamp, outbox);
    }
    return due.size() >= AT_ONCE;
  }

  /** Tells all that wait, and has them wait on. */
  private final class Walk implements BooleanSupplier {
    private final State state;
    private final long timestamp;
    private final Outbox outbox;
    private Slice last = Slice.EMPTY;

    Walk(State state, long timestamp, Outbox outbox) {
      this.state = state;
      this.timestamp = timestamp;
      this.outbox = outbox;
    }

    @Override
    public boolean getAsBoolean() {
      Memory memory = new Memory(state);
      Iterator<EntryMap.Entry> waiting = memory.waiting.from(last);
      for (int left = AT_ONCE; left > 0 && waiting.hasNext(); left--) {
        Slice place = waiting.next().key();
        if (!place.equals(last)) {
          send(place, memory.watermark, timestamp, outbox);
        }
        last = place;
      }
      return waiting.hasNext();
    }
  }

  private void send(Slice place, long watermark, long timestamp, Outbox outbox) {
    byte[] key = TimedMap.identityOf(place).toBytes();
    byte[] message = Message.closed(timestamp, watermark, TimedMap.timeOf(place), node);
    outbox.send(program.target(), key, message);
  }

  /** What one bucket remembers. */
  private final class Memory {
    private static final int WAITING = 0;
    private static final int ENDED = 1;

    /** The least over all partitions, which never falls; {@link Marks#UNKNOWN} before the first. */
    private long watermark = Marks.UNKNOWN;

    private final Map<Long, Long> newest = new TreeMap<>();
    private final OrderedMap waiting;

    /** Places of which addresses were told before their time. */
    private final OrderedMap ended;

    private boolean touched;

    Memory(State state) {
      byte[] stored = state.read();
      ByteReader in = stored == null ? null : new ByteReader(stored);
      if (in != null) {
        watermark = in.readLong();
        for (int left = in.readVarInt(); left > 0; left--) {
          newest.put(in.readVarLong(), in.readLong());
        }
      }
      waiting = OrderedMap.read(in, state, WAITING);
      ended = OrderedMap.read(in, state, ENDED);
    }

    void write(State state) {
      if (!touched) {
        return;
      }
      ByteWriter out = new ByteWriter(256);
      out.writeLong(watermark).writeVarInt(newest.size());
      newest.forEach((partition, time) -> out.writeVarLong(partition).writeLong(time));
      waiting.write(out);
      ended.write(out);
      state.write(out.toBytes());
    }

    /** Takes the newest times of what a batch read; none of these partitions is idle any more. */
    void hear(Map<Long, Long> heard) {
      Set<Long> silent = idle.get();
      long others = heard.isEmpty() ? other.getAsLong() : Marks.UNKNOWN;
      if (heard.isEmpty() && silent.isEmpty() && others == Marks.UNKNOWN) {
        return;
      }
      touched = true;
      watermark = Math.max(watermark, others);
      heard.forEach((partition, time) -> newest.merge(partition, time, Math::max));
      newest.entrySet().stream()
          .filter(each -> heard.containsKey(each.getKey()) || !silent.contains(each.getKey()))
          .mapToLong(Map.Entry::getValue)
          .min()
          .ifPresent(least -> watermark = Math.max(watermark, least - program.delayMicros()));
    }

    /** Whether something may be due once another partition is idle, or all are. */
    boolean waitsForTheIdle() {
      return (program.other() != null || newest.size() > 1) && waiting.size() > 0;
    }

    void await(Slice place) {
      if (waiting.get(place) == null) {
        touched = true;
        waiting.put(place, Slice.EMPTY);
      }
    }

    boolean hasEnded(Slice place) {
      return ended.size() > 0 && ended.get(place) != null;
    }

    /** Takes what waits no more, or some of it: what is due, or {@code all}. */
    List<EntryMap.Entry> takeDue(boolean all) {
      Slice due = TimedMap.startOf(watermark == Marks.UNKNOWN ? watermark : watermark + 1);
      Slice bound = all ? TimedMap.startOf(Long.MAX_VALUE) : due;
      List<EntryMap.Entry> taken = waiting.takeBelow(bound, AT_ONCE);
      for (EntryMap.Entry each : taken) {
        if (each.key().compareTo(due) >= 0) {
          ended.put(each.key(), Slice.EMPTY);
        }
      }
      // What the watermark has come to needs no mark, and those told of it are told already.
      touched |= !taken.isEmpty() | !ended.takeBelow(due, AT_ONCE).isEmpty();
      return taken;
    }
  }
}
