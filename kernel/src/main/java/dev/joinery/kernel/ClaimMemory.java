package dev.joinery.kernel;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Iterator;
import java.util.List;
import java.util.function.Function;

/**
 * What a {@link Claim} remembers in one bucket: the address of each event by identity, and until
 * when the lookup behind may remember it.
 *
 * <p>Before a lookup of the current row that is a time of the clock, and what is over is forgotten
 * in rounds, an eighth of the time late at most. Before a versioned lookup it is the event's time,
 * which is over once the table's watermark is past it or the table is idle.
 */
final class ClaimMemory {
  private static final int CLAIMS = 0;
  private static final long UNKNOWN = Long.MIN_VALUE;
  private static final long LEAST_ROUND_MICROS = 1_000_000;

  private final Program.ClaimProgram program;
  private final EntryMap claims;
  private long newest = UNKNOWN;
  private long quietSince = UNKNOWN;
  private long forgetsAt;
  private boolean touched;

  private ClaimMemory(Program.ClaimProgram program, ByteReader in, State state) {
    this.program = program;
    if (in != null) {
      newest = in.readLong();
      quietSince = in.readLong();
      forgetsAt = in.readLong();
    }
    claims = EntryMap.read(in, state, CLAIMS);
  }

  static ClaimMemory read(Program.ClaimProgram program, State state) {
    byte[] stored = state.read();
    return new ClaimMemory(program, stored == null ? null : new ByteReader(stored), state);
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
    out.writeLong(newest).writeLong(quietSince).writeLong(forgetsAt);
    claims.write(out);
    state.write(out.toBytes());
  }

  <T> List<T> inPageOrder(Collection<T> elements, Function<T, Slice> key) {
    return claims.inPageOrder(elements, key);
  }

  /** Where the event is remembered, or null. */
  Slice addressOf(Slice identity) {
    Slice claim = claims.size() == 0 ? null : claims.get(identity);
    return claim == null ? null : claim.sub(Long.BYTES, claim.length() - Long.BYTES);
  }

  void put(Slice identity, long until, byte[] address, State state) {
    touched = true;
    ByteWriter out = new ByteWriter(address.length + Long.BYTES);
    claims.put(identity, Slice.of(out.writeLong(until).writeRaw(address).toBytes()));
    if (!program.isVersioned()) {
      wakeAfter(until, state);
    }
  }

  void remove(Slice identity) {
    touched = true;
    claims.remove(identity);
  }

  // Time

  /** Takes what a batch told of the table's time, and forgets what is over by it. */
  void hear(long time, boolean stirred, long timestamp) {
    if (stirred || quietSince == UNKNOWN) {
      quietSince = timestamp;
      touched = true;
    }
    boolean moved = time > newest;
    if (moved) {
      newest = time;
      touched = true;
    }
    if (moved || isIdle(timestamp)) {
      forgetOver(timestamp);
    }
  }

  /** Whether the lookup behind remembers nothing of this time any more. */
  boolean isOver(long until, long timestamp) {
    if (!program.isVersioned()) {
      return until <= timestamp;
    }
    boolean past = newest != UNKNOWN && newest - program.maxDelayMicros() > until;
    return past || isIdle(timestamp);
  }

  private boolean isIdle(long timestamp) {
    return program.idleMicros() >= 0
        && quietSince != UNKNOWN
        && timestamp - quietSince >= program.idleMicros();
  }

  /** Forgets what is over, and asks to be called again while something is left. */
  void forget(long timestamp, State state) {
    forgetOver(timestamp);
    if (claims.size() > 0) {
      wakeAfter(timestamp, state);
    }
  }

  private void forgetOver(long timestamp) {
    List<Slice> over = new ArrayList<>();
    Iterator<EntryMap.Entry> all = claims.iterator();
    while (all.hasNext()) {
      EntryMap.Entry each = all.next();
      if (isOver(new ByteReader(each.value()).readLong(), timestamp)) {
        over.add(each.key().detach());
      }
    }
    claims.inPageOrder(over, each -> each).forEach(claims::remove);
    touched |= !over.isEmpty();
  }

  private void wakeAfter(long from, State state) {
    long round = Math.max(program.keepMicros() / 8, LEAST_ROUND_MICROS);
    long wake = (from / round + 1) * round;
    if (wake > forgetsAt) {
      forgetsAt = wake;
      touched = true;
      state.wakeAt(wake);
    }
  }
}
