package dev.joinery.kernel.stream;

import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.Marks;
import dev.joinery.kernel.program.StreamProgram;
import dev.joinery.kernel.state.State;
import dev.joinery.kernel.state.TimedMap;
import java.util.Collection;
import java.util.List;
import java.util.function.Function;
import java.util.function.LongSupplier;

/**
 * What a {@link Claim} remembers in one bucket: the address of each event by identity, and until
 * when the lookup behind may remember it.
 *
 * <p>Before a lookup of the current row that is a time of the clock, and what is over is forgotten
 * in rounds, an eighth of the time late at most. Before a versioned lookup it is the event's time,
 * which is over once the table's watermark is past it or the table is idle; before rolling columns
 * too, which is over once no event sees it that still counts.
 */
final class ClaimMemory {
  private static final int CLAIMS = 0;

  private final StreamProgram.ClaimProgram program;
  private final TableClock clock;
  private final LongSupplier forgotten;
  private final TimedMap claims;
  private final Alarm forgets;
  private boolean touched;

  private ClaimMemory(
      StreamProgram.ClaimProgram program, LongSupplier forgotten, ByteReader in, State state) {
    this.program = program;
    this.forgotten = forgotten;
    clock = new TableClock(in, program.maxDelayMicros(), program.idleMicros());
    forgets = Alarm.read(in);
    claims = TimedMap.read(in, state, CLAIMS);
  }

  /** {@code forgotten} gives the time below which the node behind has forgotten all, or is null. */
  static ClaimMemory read(StreamProgram.ClaimProgram program, LongSupplier forgotten, State state) {
    byte[] stored = state.read();
    ByteReader in = stored == null ? null : new ByteReader(stored);
    return new ClaimMemory(program, forgotten, in, state);
  }

  void write(State state) {
    if (!touched) {
      return;
    }
    if (claims.size() == 0 && !program.isVersioned()) {
      state.clear();
      return;
    }
    ByteWriter out = new ByteWriter(1024);
    clock.write(out);
    out.writeLong(forgets.time());
    claims.write(out);
    state.write(out.toBytes());
  }

  <T> List<T> inPageOrder(Collection<T> elements, Function<T, Slice> identity) {
    return claims.inPageOrder(elements, identity);
  }

  /** Where the event is remembered and until when, or null. */
  TimedMap.Timed claimOf(Slice identity) {
    return claims.get(identity);
  }

  void put(Slice identity, long until, byte[] address, State state) {
    touched = true;
    claims.put(identity, until, Slice.of(address));
    if (!program.isVersioned()) {
      wakeAfter(until, state);
    }
  }

  void remove(Slice identity) {
    touched |= claims.remove(identity);
  }

  // Time

  /** Takes what a batch told of the table's time. */
  void hear(Marks marks, long timestamp) {
    touched |= clock.hear(marks, timestamp);
  }

  /** Whether the lookup behind remembers nothing of this time any more. */
  boolean isOver(long until, long timestamp) {
    return until < overBefore(timestamp);
  }

  private long overBefore(long timestamp) {
    if (forgotten != null) {
      return forgotten.getAsLong();
    }
    return program.isVersioned() ? clock.finalBefore(timestamp) : timestamp + 1;
  }

  /** Forgets what is over. */
  void forgetOver(long timestamp) {
    touched |= claims.removeBefore(overBefore(timestamp));
  }

  /** Forgets what is over, and asks to be called again while something is left. */
  void forget(long timestamp, State state) {
    forgetOver(timestamp);
    if (claims.size() > 0) {
      wakeAfter(timestamp, state);
    }
  }

  private void wakeAfter(long from, State state) {
    touched |= forgets.after(from, Alarm.roundOf(program.keepMicros()), state);
  }
}
