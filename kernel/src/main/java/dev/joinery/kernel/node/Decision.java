package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.Marks;
import dev.joinery.kernel.message.Message;
import dev.joinery.kernel.program.DocumentProgram;
import dev.joinery.kernel.state.State;
import java.util.List;
import java.util.Objects;
import java.util.TreeSet;

/**
 * Whether a row's time is over, so that it may be sent: remembers, of each log that its Fold waits
 * for, which deadlines have come.
 *
 * <p>A deadline that has come stays so, and whoever sends the row tells its deadline again when its
 * time moves; so what was told of another is of no account. A row without a time waits for nothing.
 */
final class Decision {
  private static final long NONE = Long.MIN_VALUE;
  private static final long SEVERAL = Long.MIN_VALUE + 1;

  private final List<Wait> waits;
  private final RowTime time;

  Decision(int fold, DocumentProgram.FoldProgram program, NodeContext context) {
    waits = Deadlines.allOf(fold, context.program()).stream().map(Decision::waitOf).toList();
    Integer column =
        program.branches().stream()
            .map(DocumentProgram.BranchProgram::within)
            .filter(Objects::nonNull)
            .findFirst()
            .map(DocumentProgram.Within::time)
            .orElse(null);
    time = new RowTime(column, context.visible(program.relation()).size());
  }

  private static Wait waitOf(Deadlines deadlines) {
    return deadlines instanceof Deadlines.Beside beside
        ? new Asked(beside)
        : new Told((Deadlines.Before) deadlines);
  }

  /** Reads what {@link #write} left; null for nothing. */
  void read(ByteReader in) {
    waits.forEach(each -> each.read(in));
  }

  void write(ByteWriter out) {
    waits.forEach(each -> each.write(out));
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
    for (Wait each : waits) {
      if (each.deadlines.node() == from && each.deadlines.of(at) == deadline) {
        each.hear(deadline, watermark);
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
    long at = time.of(row);
    boolean moved = at != time.of(before);
    for (Wait each : waits) {
      if (at == Marks.UNKNOWN) {
        each.askNothing();
      } else {
        each.ask(each.deadlines.of(at), moved, state);
      }
    }
  }

  boolean isMade(Slice row) {
    long at = time.of(row);
    return at == Marks.UNKNOWN
        || waits.stream().allMatch(each -> each.hasCome(each.deadlines.of(at)));
  }

  /** The wait for the log of one relation. */
  private abstract static sealed class Wait {
    final Deadlines deadlines;

    Wait(Deadlines deadlines) {
      this.deadlines = deadlines;
    }

    abstract void read(ByteReader in);

    abstract void write(ByteWriter out);

    /** Takes that the row's deadline has come. */
    abstract void hear(long deadline, long watermark);

    void askNothing() {}

    void ask(long deadline, boolean moved, State state) {}

    abstract boolean hasCome(long deadline);
  }

  /** By a Closing before the Fold, which itself remembers what it told at an end of the logs. */
  private static final class Told extends Wait {
    private long told;

    Told(Deadlines.Before deadlines) {
      super(deadlines);
    }

    @Override
    void read(ByteReader in) {
      told = in == null ? NONE : in.readLong();
    }

    @Override
    void write(ByteWriter out) {
      out.writeLong(told);
    }

    @Override
    void hear(long deadline, long watermark) {
      told = deadline;
    }

    @Override
    boolean hasCome(long deadline) {
      return told == deadline;
    }
  }

  /**
   * Beside the Fold, which asks each time whether the watermark has come to the row's deadline; so
   * one that came only since all logs had ended is remembered until the watermark is there, too,
   * whatever times the row has in between.
   */
  private static final class Asked extends Wait {
    private final TreeSet<Long> come = new TreeSet<>();

    /** Whether the watermark has come to the deadline of the row at hand. */
    private boolean passed;

    Asked(Deadlines.Beside deadlines) {
      super(deadlines);
    }

    @Override
    void read(ByteReader in) {
      come.clear();
      long first = in == null ? NONE : in.readLong();
      if (first == SEVERAL) {
        for (int left = in.readVarInt(); left > 0; left--) {
          come.add(in.readLong());
        }
      } else if (first != NONE) {
        come.add(first);
      }
    }

    @Override
    void write(ByteWriter out) {
      if (come.size() < 2) {
        out.writeLong(come.isEmpty() ? NONE : come.first());
        return;
      }
      out.writeLong(SEVERAL).writeVarInt(come.size());
      come.forEach(out::writeLong);
    }

    @Override
    void hear(long deadline, long watermark) {
      if (deadline > watermark) {
        come.add(deadline);
      }
    }

    @Override
    void askNothing() {
      passed = false;
    }

    @Override
    void ask(long deadline, boolean moved, State state) {
      int node = deadlines.node();
      passed = state.hasPassed(node, deadline);
      boolean comes =
          passed || (moved && !come.contains(deadline) && state.hasCome(node, deadline));
      if (comes || come.size() > 1) {
        come.removeIf(each -> state.hasPassed(node, each));
      }
      if (comes) {
        come.add(deadline);
      }
    }

    @Override
    boolean hasCome(long deadline) {
      return passed || come.contains(deadline);
    }
  }
}
