package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.Address;
import dev.joinery.kernel.bytes.BinaryRow;
import dev.joinery.kernel.bytes.KeyCodec;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.BranchMessage;
import dev.joinery.kernel.message.Marks;
import dev.joinery.kernel.message.Message;
import dev.joinery.kernel.message.Outbox;
import dev.joinery.kernel.message.ParentMessage;
import dev.joinery.kernel.message.RawChange;
import dev.joinery.kernel.program.Program;
import dev.joinery.kernel.state.State;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;

/**
 * Remembers a relation's row; sends each of its uses what changed, a remove at the old address and
 * a put at the new.
 */
public final class Retract implements Node {

  private interface RuntimeUse {
    void send(Change change, Outbox outbox);
  }

  /** One row before and after a batch, as products see it; null where it does not exist. */
  private record Change(byte[] key, Slice before, Slice after, long epoch, long timestamp) {}

  private final RelationRows rows;
  private final List<RuntimeUse> uses = new ArrayList<>();

  public Retract(Program.RetractProgram program, NodeContext context) {
    rows = context.rows(program.relation());
    for (Program.Use use : program.uses()) {
      uses.add(runtime(use, program.relation(), context));
    }
  }

  @Override
  public void handle(Slice key, List<byte[]> messages, State state, Outbox outbox) {
    byte[] stored = state.read();
    RowCell cell = RowCell.read(stored == null ? null : Slice.of(stored));
    if (stored == null) {
      cell.epoch = state.highestForgotten();
    }
    Slice before = rows.view(cell);
    List<RawChange> changes = new ArrayList<>(messages.size());
    for (byte[] message : messages) {
      changes.add(RawChange.read(message));
    }
    long timestamp = Message.timestamp(messages.get(0));
    if (!rows.apply(cell, changes, timestamp, outbox)) {
      return;
    }
    state.write(cell.toBytes());
    if (!cell.exists) {
      rows.expireLater(cell, Slice.EMPTY, state);
    }
    Slice after = rows.view(cell);
    if (before == null ? after == null : before.equals(after)) {
      return;
    }
    Change change = new Change(key.toBytes(), before, after, cell.epoch, timestamp);
    for (RuntimeUse use : uses) {
      use.send(change, outbox);
    }
  }

  @Override
  public void expire(Slice key, List<Slice> entries, long timestamp, State state) {
    byte[] stored = state.read();
    RowCell cell = RowCell.read(stored == null ? null : Slice.of(stored));
    if (cell.known && rows.isOver(cell, timestamp, Slice.EMPTY, state)) {
      state.forget(cell.epoch);
    }
  }

  private static RuntimeUse runtime(Program.Use use, int relation, NodeContext context) {
    if (use instanceof Program.OwnUse own) {
      return ownUse(own);
    }
    if (use instanceof Program.ParentUse parent) {
      return parentUse(parent, relation, context);
    }
    if (use instanceof Program.GroupUse group) {
      return groupUse(group, context);
    }
    if (use instanceof Program.ChildUse child) {
      return childUse(child, relation, context);
    }
    throw new IllegalStateException("no use of a row is " + use);
  }

  private static RuntimeUse ownUse(Program.OwnUse use) {
    return (change, outbox) ->
        outbox.send(
            use.target(),
            change.key(),
            change.after() == null
                ? Message.ownRemove(change.timestamp(), change.epoch())
                : Message.ownPut(change.timestamp(), change.epoch(), change.after()));
  }

  private static RuntimeUse groupUse(Program.GroupUse use, NodeContext context) {
    Grouping groups = new Grouping(use.target(), context);
    return (change, outbox) -> {
      groups.take(
          change.before(),
          change.after(),
          Slice.EMPTY,
          Marks.UNKNOWN,
          change.timestamp(),
          outbox);
      groups.sendTo(change.timestamp(), outbox);
    };
  }

  private static RuntimeUse parentUse(Program.ParentUse use, int relation, NodeContext context) {
    KeyCodec codec = use.address().codec(context.visible(relation));
    UnsafeRow row = new UnsafeRow(context.visible(relation).size());
    return (change, outbox) -> {
      byte[] from = parentAddress(change.before(), change.key(), use, codec, row);
      byte[] to = parentAddress(change.after(), change.key(), use, codec, row);
      boolean stays = Arrays.equals(from, to);
      if (from != null && !stays) {
        outbox.send(
            use.target(),
            from,
            ParentMessage.remove(change.timestamp(), change.epoch(), change.key()));
      }
      if (to == null) {
        if (change.after() != null && (change.before() == null || from != null)) {
          outbox.send(use.fold(), change.key(), nothing(change, use));
        }
      } else if (!stays || use.merged()) {
        Slice own = use.merged() ? change.after() : Slice.EMPTY;
        outbox.send(
            use.target(),
            to,
            ParentMessage.put(change.timestamp(), change.epoch(), change.key(), own));
      }
    };
  }

  /** What the target would answer if it had no children. */
  private static byte[] nothing(Change change, Program.ParentUse use) {
    BranchMessage message = new BranchMessage();
    for (int branch : use.branches()) {
      message.begin(branch, 0, Slice.EMPTY).end();
    }
    return message.toBytes(change.timestamp(), change.epoch());
  }

  /**
   * Null where the row does not exist or joins nothing; a row that is merged and joins nothing has
   * an address of its own, where no child ever comes.
   */
  private static byte[] parentAddress(
      Slice bytes, byte[] key, Program.ParentUse use, KeyCodec codec, UnsafeRow row) {
    if (bytes == null) {
      return null;
    }
    BinaryRow.point(row, bytes);
    if (!codec.anyNull(row)) {
      return codec.encode(row);
    }
    return use.merged() ? Address.keyOfNull(key) : null;
  }

  private static RuntimeUse childUse(Program.ChildUse use, int relation, NodeContext context) {
    Upward upward = new Upward(use.upward(), context.visible(relation));
    Placing placing =
        new Placing(
            context.assembler(use.assembler()),
            upward,
            new UnsafeRow(context.visible(relation).size()));
    String product = context.productOf(use.assembler());
    return (change, outbox) -> {
      Upward.Placed before = placing.place(change.before());
      int failures = placing.failures();
      Upward.Placed after = placing.place(change.after());
      context.counters().productFailures(product, failures, placing.failures());
      upward.send(
          before, after, Slice.of(change.key()), change.epoch(), change.timestamp(), outbox);
    };
  }

  /** Finds where a row stands as a child; a row that joins nothing is not evaluated. */
  private static final class Placing {
    private final Assembler assembler;
    private final Upward upward;
    private final UnsafeRow row;
    private int failures;

    Placing(Assembler assembler, Upward upward, UnsafeRow row) {
      this.assembler = assembler;
      this.upward = upward;
      this.row = row;
    }

    Upward.Placed place(Slice bytes) {
      failures = 0;
      if (bytes == null) {
        return null;
      }
      byte[] address = upward.addressOf(BinaryRow.point(row, bytes));
      if (address == null) {
        return null;
      }
      boolean exists = assembler.assemble(bytes, row, Assembler.NO_INPUTS);
      failures = assembler.failures();
      return exists ? new Upward.Placed(address, 0, assembler.order(), assembler.row()) : null;
    }

    /** How many expressions failed over the row that was placed last. */
    int failures() {
      return failures;
    }
  }
}
