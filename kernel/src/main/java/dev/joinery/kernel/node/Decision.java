package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.Marks;
import dev.joinery.kernel.message.Message;
import dev.joinery.kernel.program.DocumentProgram;
import dev.joinery.kernel.state.State;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;

/**
 * Whether a row's time is over, so that it may be sent: remembers, of each Closing before its Fold or
 * beside it, the deadline that it told last as one that has come.
 *
 * <p>A deadline that has come stays so, and whoever sends the row tells its deadline again when its
 * time moves; so what was told of another is of no account. A row without a time waits for nothing.
 *
 * <p>A Closing beside the Fold is asked each time whether the watermark has come to the row's deadline.
 * So one that came only since all logs had ended is remembered until the watermark is there, too,
 * whatever times the row has in between.
 */
final class Decision {
  private static final long NEVER = Long.MIN_VALUE;

  private final List<Deadlines> waits;
  private final RowTime time;
  private final long[] told;

  /** Whether the watermark has come to the deadline of the row at hand, where that stands beside. */
  private final boolean[] passed;

  Decision(int fold, DocumentProgram.FoldProgram program, NodeContext context) {
    waits = Deadlines.allBefore(fold, context.program());
    Integer column =
        program.branches().stream()
            .map(DocumentProgram.BranchProgram::within)
            .filter(Objects::nonNull)
            .findFirst()
            .map(DocumentProgram.Within::time)
            .orElse(null);
    time = new RowTime(column, context.visible(program.relation()).size());
    told = new long[waits.size()];
    passed = new boolean[told.length];
  }

  /** Reads what {@link #write} left; null for nothing. */
  void read(ByteReader in) {
    Arrays.fill(told, NEVER);
    for (int i = 0; in != null && i < told.length; i++) {
      told[i] = in.readLong();
    }
  }

  void write(ByteWriter out) {
    for (long each : told) {
      out.writeLong(each);
    }
  }

  /** Takes from messages what they tell of the deadlines of a row, null where there is none. */
  void hear(List<byte[]> messages, Slice row) {
    long at = time.of(row);
    if (at == Marks.UNKNOWN) {
      return;
    }
    for (byte[] message : messages) {
      if (Message.kind(message) == Message.CLOSED) {
        hear(Message.body(message), at);
      }
    }
  }

  private void hear(ByteReader closed, long at) {
    long watermark = closed.readLong();
    long deadline = closed.readLong();
    int from = closed.readVarInt();
    for (int i = 0; i < told.length; i++) {
      if (waits.get(i).node() == from
          && waits.get(i).of(at) == deadline
          && (deadline > watermark || !waits.get(i).isBeside())) {
        told[i] = deadline;
      }
    }
  }

  /**
   * Takes of deadlines that stand beside the Fold whether those of a row have come; has the others
   * told once they have.
   *
   * @param before the row as it was
   * @param row as it is; null where there is none
   */
  void ask(Slice before, Slice row, State state) {
    Arrays.fill(passed, false);
    long at = time.of(row);
    if (at == Marks.UNKNOWN) {
      return;
    }
    for (int i = 0; i < told.length; i++) {
      if (waits.get(i).isBeside()) {
        ask(i, waits.get(i).of(at), at != time.of(before), state);
      }
    }
  }

  private void ask(int i, long deadline, boolean moved, State state) {
    int closing = waits.get(i).node();
    passed[i] = state.hasPassed(closing, deadline);
    boolean comes =
        passed[i]
            ? told[i] == NEVER || state.hasPassed(closing, told[i])
            : moved && told[i] != deadline && state.hasCome(closing, deadline);
    if (comes) {
      told[i] = deadline;
    }
  }

  boolean isMade(Slice row) {
    long at = time.of(row);
    if (at == Marks.UNKNOWN) {
      return true;
    }
    for (int i = 0; i < told.length; i++) {
      if (!passed[i] && told[i] != waits.get(i).of(at)) {
        return false;
      }
    }
    return true;
  }
}
