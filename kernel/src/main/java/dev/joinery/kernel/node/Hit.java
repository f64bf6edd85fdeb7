package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.Replacement;

/**
 * A match as the sink has it.
 *
 * @param sent whether the sink holds it, and {@code hash} as what
 * @param failed whether what it should hold could not be sent
 * @param failures how many expressions failed in it
 */
record Hit(boolean sent, boolean failed, int failures, long hash) {
  /** Of a query and a document that did not match before. */
  static final Hit NONE = new Hit(false, false, 0, 0);

  private static final int SENT = 1;
  private static final int FAILED = 2;

  static Hit read(ByteReader in) {
    int flags = in.readByte();
    int failures = in.readVarInt();
    boolean sent = (flags & SENT) != 0;
    return new Hit(sent, (flags & FAILED) != 0, failures, sent ? in.readLong() : 0);
  }

  void write(ByteWriter out) {
    out.writeByte((sent ? SENT : 0) | (failed ? FAILED : 0)).writeVarInt(failures);
    if (sent) {
      out.writeLong(hash);
    }
  }

  /** The same match, whose document may not go. */
  Hit failing(int times) {
    return new Hit(sent, true, times, hash);
  }

  /** What a document, or a tombstone, replaces at the sink. */
  Slice replacedBy(boolean holds, long content) {
    return sent && failed
        ? Replacement.UNKNOWN
        : new Replacement(sent, hash, holds, content).toBytes();
  }

  /** Whether a document has to be sent in its place. */
  boolean differs(long content) {
    return !sent || failed || hash != content;
  }
}
