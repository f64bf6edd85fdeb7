package dev.joinery.kernel.stream;

import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.state.State;

/** The latest time at which one address asked to be called; asks again only for a later one. */
final class Alarm {
  private static final long LEAST_ROUND_MICROS = 1_000_000;

  /** 0 for none. */
  private long time;

  /** {@code in} is null for an address that never asked. */
  static Alarm read(ByteReader in) {
    Alarm alarm = new Alarm();
    if (in != null) {
      alarm.time = in.readLong();
    }
    return alarm;
  }

  long time() {
    return time;
  }

  void clear() {
    time = 0;
  }

  /** Asks to be called; returns whether that is new. */
  boolean at(long wake, State state) {
    if (wake <= time) {
      return false;
    }
    time = wake;
    state.wakeAt(wake);
    return true;
  }

  /** Asks to be called at the end of the round that a time falls into. */
  boolean after(long from, long roundMicros, State state) {
    return at((from / roundMicros + 1) * roundMicros, state);
  }

  /** Rounds in which what lasts so long is forgotten together, an eighth of it late at most. */
  static long roundOf(long micros) {
    return Math.max(micros / 8, LEAST_ROUND_MICROS);
  }
}
