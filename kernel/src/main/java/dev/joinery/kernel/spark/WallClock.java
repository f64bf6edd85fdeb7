package dev.joinery.kernel.spark;

import java.io.Serializable;
import java.time.Instant;
import java.time.temporal.ChronoUnit;

/**
 * Tells the time at which a row passes, inside Spark's own projection; each is later than the one
 * before, so that of two events with one key in one log the last has the higher version.
 *
 * <p>Public, and so is its method, because generated code calls it.
 */
public final class WallClock implements Serializable {
  private long last;

  /** Microseconds since 1970. */
  public long micros() {
    last = Math.max(last + 1, ChronoUnit.MICROS.between(Instant.EPOCH, Instant.now()));
    return last;
  }
}
