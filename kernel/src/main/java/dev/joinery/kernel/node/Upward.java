package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.KeyCodec;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.ChildMessage;
import dev.joinery.kernel.message.Outbox;
import dev.joinery.kernel.program.DocumentProgram;
import dev.joinery.kernel.program.Program;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;

/** Sends what became of a child's row to the node that its join columns address. */
final class Upward {
  /** A child's row as a receiver should see it; {@code address} is null where it joins nothing. */
  record Placed(byte[] address, int flags, Slice order, Slice row) {
    boolean sameContent(Placed other) {
      return flags == other.flags && order.equals(other.order) && row.equals(other.row);
    }
  }

  private final int target;
  private final int branch;
  private final KeyCodec address;

  Upward(DocumentProgram.Upward program, List<Program.Slot> own) {
    this.target = program.target();
    this.branch = program.branch();
    this.address = program.address().codec(own);
  }

  byte[] addressOf(UnsafeRow own) {
    return address.anyNull(own) ? null : address.encode(own);
  }

  /** Sends the difference between two placements of one child; null is not a row. */
  void send(Placed before, Placed after, Slice key, long epoch, long timestamp, Outbox outbox) {
    byte[] from = before == null ? null : before.address();
    byte[] to = after == null ? null : after.address();
    boolean moved = from != null && !java.util.Arrays.equals(from, to);
    if (moved) {
      sendGone(from, key, epoch, timestamp, outbox);
    }
    if (to != null && (from == null || moved || !before.sameContent(after))) {
      outbox.send(
          target,
          to,
          ChildMessage.put(
              timestamp, branch, epoch, key, after.flags(), after.order(), after.row()));
    }
  }

  void sendGone(byte[] from, Slice key, long epoch, long timestamp, Outbox outbox) {
    outbox.send(target, from, ChildMessage.remove(timestamp, branch, epoch, key));
  }
}
