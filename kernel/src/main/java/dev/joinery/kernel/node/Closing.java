package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.Marks;
import dev.joinery.kernel.message.Message;
import dev.joinery.kernel.message.Outbox;
import dev.joinery.kernel.program.Program;
import dev.joinery.kernel.state.EntryMap;
import dev.joinery.kernel.state.OrderedMap;
import dev.joinery.kernel.state.State;
import dev.joinery.kernel.state.TimedMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * Remembers, for a share of the addresses of a later node, the deadlines that are still to come,
 * and how far each partition of a relation's log has come; tells an address the watermark once it
 * has reached a deadline of its own, and at each message about a deadline that it has passed.
 *
 * <p>So the node behind it hears in the batch in which it may send, whichever rows moved the
 * watermark, and need not remember whether it may: a deadline is told with every change of what it
 * is about. What a batch costs is what it tells and what comes due; what waits is not looked at.
 */
public final class Closing implements Node {
  /** How many addresses are told before what was sent to them is taken. */
  private static final int AT_ONCE = 4096;

  private final Program.ClosingProgram program;

  public Closing(Program.ClosingProgram program) {
    this.program = program;
  }

  @Override
  public void handle(Slice bucket, List<byte[]> messages, State state, Outbox outbox) {
    Marks marks = new Marks();
    TreeSet<Slice> told = new TreeSet<>();
    for (byte[] message : messages) {
      ByteReader in = Message.body(message);
      switch (Message.kind(message)) {
        case Message.WATERMARK -> marks.read(in);
        case Message.DEADLINE -> told.add(TimedMap.keyOf(in.readLong(), in.rest()));
        default -> throw Message.unexpected(message);
      }
    }
    Memory memory = new Memory(state);
    memory.hear(marks);
    long timestamp = Message.latest(messages);
    for (Slice place : told) {
      if (TimedMap.timeOf(place) > memory.watermark) {
        memory.await(place);
      } else {
        send(place, memory.watermark, timestamp, outbox);
      }
    }
    if (sendDue(memory, timestamp, outbox)) {
      outbox.repeat(() -> sendMore(state, timestamp, outbox));
    }
    memory.write(state);
  }

  private boolean sendMore(State state, long timestamp, Outbox outbox) {
    Memory memory = new Memory(state);
    boolean more = sendDue(memory, timestamp, outbox);
    memory.write(state);
    return more;
  }

  /** Tells addresses whose deadline has come; returns whether there may be more. */
  private boolean sendDue(Memory memory, long timestamp, Outbox outbox) {
    List<EntryMap.Entry> due = memory.takeDue();
    for (EntryMap.Entry each : due) {
      send(each.key(), memory.watermark, timestamp, outbox);
    }
    return due.size() >= AT_ONCE;
  }

  private void send(Slice place, long watermark, long timestamp, Outbox outbox) {
    byte[] key = TimedMap.identityOf(place).toBytes();
    outbox.send(program.target(), key, Message.closed(timestamp, watermark));
  }

  /** What one bucket remembers. */
  private final class Memory {
    private static final int WAITING = 0;

    /** The least over all partitions, which never falls; {@link Marks#UNKNOWN} before the first. */
    private long watermark = Marks.UNKNOWN;

    private final Map<Long, Long> newest = new TreeMap<>();
    private final OrderedMap waiting;
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
    }

    void write(State state) {
      if (!touched) {
        return;
      }
      ByteWriter out = new ByteWriter(256);
      out.writeLong(watermark).writeVarInt(newest.size());
      newest.forEach((partition, time) -> out.writeVarLong(partition).writeLong(time));
      waiting.write(out);
      state.write(out.toBytes());
    }

    void hear(Marks marks) {
      if (!marks.areNone()) {
        touched = true;
        marks.newest().forEach((partition, time) -> newest.merge(partition, time, Math::max));
        long least = newest.values().stream().mapToLong(Long::longValue).min().orElseThrow();
        watermark = Math.max(watermark, least - program.delayMicros());
      }
    }

    void await(Slice place) {
      if (waiting.get(place) == null) {
        touched = true;
        waiting.put(place, Slice.EMPTY);
      }
    }

    List<EntryMap.Entry> takeDue() {
      if (watermark == Marks.UNKNOWN) {
        return List.of();
      }
      List<EntryMap.Entry> due =
          waiting.takeBelow(TimedMap.startOf(watermark + 1), AT_ONCE);
      touched |= !due.isEmpty();
      return due;
    }
  }
}
