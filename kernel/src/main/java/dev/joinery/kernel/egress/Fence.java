package dev.joinery.kernel.egress;

import java.io.IOException;
import java.io.Serializable;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Keeps a run that was replaced, or has ended and left a query behind, from sending: remembers when
 * it last saw that the lease is still its own.
 *
 * <p>Limits: a machine that does not see the lease's file is not kept; what a run sends within
 * {@link #TRUST_MILLIS} of a look is not looked at.
 */
public final class Fence implements Serializable {
  static final long TRUST_MILLIS = 200;

  /** As {@code joinery.delivery.lease} writes it. */
  private static final String RELEASED = "\"released\": true";

  private final String lease;
  private final String owner;
  private transient long seenAt;

  /** {@code lease}: the file that names the run which holds it; {@code owner}: this run. */
  public Fence(String lease, String owner) {
    this.lease = lease;
    this.owner = owner;
  }

  /** Refuses to go on once another run holds the lease, or this one gave it back. */
  void check() {
    long now = System.currentTimeMillis();
    if (now >= seenAt && now - seenAt < TRUST_MILLIS) {
      return;
    }
    checkNow();
    seenAt = now;
  }

  /** The same, however short ago the last look was. */
  void checkNow() {
    try {
      String held = Files.readString(Path.of(lease));
      if (!held.contains(owner)) {
        throw new IllegalStateException("another run has taken over; this one sends nothing more");
      }
      if (held.contains(RELEASED)) {
        throw new IllegalStateException("its run has ended; nothing more is sent");
      }
    } catch (IOException unseen) {
      // Not shared with this machine; the driver ends the query.
    }
  }
}
