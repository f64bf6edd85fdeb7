package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.state.State;

/**
 * Of an address that holds nothing any more: remembers since when, and forgets it once the retention
 * of tombstones is over.
 */
final class Retention {
  private static final Slice WHOLE = Slice.EMPTY;

  /** Longer than a message is on its way. */
  private static final long SOON_MICROS = 60_000_000L;

  private final long micros;
  private long goneAt;

  Retention(NodeContext context) {
    this.micros = context.program().tombstoneRetentionMicros();
  }

  /** Reads what {@link #write} left; null where there is none. */
  void read(ByteReader in) {
    goneAt = in == null ? 0 : in.readLong();
  }

  /** {@code gone} says whether the address holds nothing as of the batch of {@code timestamp}. */
  void write(boolean gone, long timestamp, ByteWriter out) {
    goneAt = gone ? timestamp : 0;
    out.writeLong(goneAt);
  }

  /** The same without news. */
  void writeAgain(ByteWriter out) {
    out.writeLong(goneAt);
  }

  /** Whether the address held nothing before, and is not forgotten so soon. */
  boolean goesOn(long timestamp) {
    return goneAt != 0 && timestamp + SOON_MICROS < goneAt + micros;
  }

  /** Has {@code Node.expire} called for an address that is gone. */
  void expireLater(State state) {
    state.expireAfter(goneAt + micros, WHOLE);
  }

  /** Forgets an address that is gone, or has it looked at again; {@code version} is its highest. */
  void expire(long version, long timestamp, State state) {
    if (goneAt + micros < timestamp) {
      state.forget(version);
    } else {
      expireLater(state);
    }
  }
}
