package dev.joinery.kernel;

import java.io.Serializable;
import java.time.Instant;
import java.time.temporal.ChronoUnit;

/**
 * Tells the time at which a row passes, inside Spark's own projection.
 *
 * <p>Public, and so is its method, because generated code calls it.
 */
public final class WallClock implements Serializable {
  /** Microseconds since 1970. */
  public long micros() {
    return ChronoUnit.MICROS.between(Instant.EPOCH, Instant.now());
  }
}
