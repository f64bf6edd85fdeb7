package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.Address;
import dev.joinery.kernel.bytes.BinaryRow;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.KeyCodec;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.BranchMessage;
import dev.joinery.kernel.message.Marks;
import dev.joinery.kernel.message.Message;
import dev.joinery.kernel.message.Outbox;
import dev.joinery.kernel.message.ParentMessage;
import dev.joinery.kernel.program.Buckets;
import dev.joinery.kernel.program.Program;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;

/**
 * What rows are for: an own row of a Fold, a parent, a child and what else there is; sends each use
 * what became of a row.
 */
interface RowUse {
  /**
   * One row before and after a batch, as products see it; null where it does not exist.
   *
   * @param began 0, or what tells it from another row of its key that was forgotten before it
   * @param anew whether it comes after such a row
   */
  record Change(
      byte[] key,
      Slice before,
      Slice after,
      long epoch,
      long timestamp,
      long began,
      boolean anew) {
    Change(byte[] key, Slice before, Slice after, long epoch, long timestamp) {
      this(key, before, after, epoch, timestamp, 0, false);
    }

    /** The key, with what tells the row from others under it; no key begins with another. */
    Slice identity() {
      return began == 0
          ? Slice.of(key)
          : Slice.of(new ByteWriter(key.length + 8).writeRaw(Slice.of(key)).writeLong(began).toBytes());
    }
  }

  void send(Change change, Outbox outbox);

  static RowUse of(Program.Use use, int relation, NodeContext context) {
    if (use instanceof Program.OwnUse own) {
      return ownUse(own, relation, context);
    }
    if (use instanceof Program.ParentUse parent) {
      return parentUse(parent, relation, context);
    }
    if (use instanceof Program.ThroughUse through) {
      return throughUse(through, relation, context);
    }
    if (use instanceof Program.ChildUse child) {
      return childUse(child, relation, context);
    }
    if (use instanceof Program.SearchedUse searched) {
      return searchedUse(searched, context);
    }
    if (use instanceof Program.QueryUse query) {
      return queryUse(query, relation, context);
    }
    throw new IllegalStateException("no use of a row is " + use);
  }

  private static RowUse ownUse(Program.OwnUse use, int relation, NodeContext context) {
    List<Deadlines> deadlines = Deadlines.allOf(use.target(), context.program());
    RowTime time = new RowTime(use.time(), context.visible(relation).size());
    return (change, outbox) -> {
      outbox.send(use.target(), change.key(), own(change));
      long at = time.of(change.after());
      if (at != Marks.UNKNOWN && at != time.of(change.before())) {
        deadlines.forEach(each -> each.send(change.key(), at, change.timestamp(), outbox));
      }
    };
  }

  private static byte[] own(Change change) {
    if (change.after() == null) {
      return Message.ownRemove(change.timestamp(), change.epoch());
    }
    return change.anew()
        ? Message.ownAnew(change.timestamp(), change.epoch(), change.after())
        : Message.ownPut(change.timestamp(), change.epoch(), change.after());
  }

  static RowUse groupUse(RowWay groups) {
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

  private static RowUse searchedUse(Program.SearchedUse use, NodeContext context) {
    Buckets buckets = context.program().buckets().get(use.target());
    return (change, outbox) ->
        outbox.send(
            use.target(),
            buckets.of(change.key()),
            Message.searched(change.timestamp(), change.key(), change.after()));
  }

  private static RowUse queryUse(Program.QueryUse use, int relation, NodeContext context) {
    Buckets buckets = context.program().buckets().get(use.target());
    Assembler assembler = context.assembler(use.assembler());
    UnsafeRow row = new UnsafeRow(context.visible(relation).size());
    return (change, outbox) -> {
      Slice kept = null;
      if (change.after() != null) {
        Slice after = change.after();
        assembler.assemble(after, BinaryRow.point(row, after), Assembler.NO_INPUTS);
        kept = assembler.row();
      }
      byte[] message = Message.query(change.timestamp(), change.key(), kept);
      for (byte[] bucket : buckets.keys()) {
        outbox.send(use.target(), bucket, message);
      }
    };
  }

  private static RowUse parentUse(Program.ParentUse use, int relation, NodeContext context) {
    KeyCodec codec = use.address().codec(context.visible(relation));
    UnsafeRow row = new UnsafeRow(context.visible(relation).size());
    RowTime time = new RowTime(use.time(), context.visible(relation).size());
    return (change, outbox) -> {
      byte[] from = parentAddress(change.before(), change.key(), use, codec, row, time);
      byte[] to = parentAddress(change.after(), change.key(), use, codec, row, time);
      boolean stays = Arrays.equals(from, to);
      boolean moves = use.merged() && from != null && to != null && !stays;
      boolean told = stays && time.of(change.before()) == time.of(change.after());
      if (from != null && !stays) {
        byte[] gone =
            moves
                ? ParentMessage.left(change.timestamp(), change.epoch(), change.key())
                : ParentMessage.remove(change.timestamp(), change.epoch(), change.key());
        outbox.send(use.target(), from, gone);
      }
      if (to == null) {
        if (change.after() != null && (change.before() == null || from != null)) {
          outbox.send(use.fold(), change.key(), nothing(change, use));
        }
      } else if (!told || use.merged()) {
        Slice own = use.merged() ? change.after() : time.bytesOf(change.after());
        byte[] here =
            moves
                ? ParentMessage.came(change.timestamp(), change.epoch(), change.key(), own)
                : ParentMessage.put(change.timestamp(), change.epoch(), change.key(), own);
        outbox.send(use.target(), to, here);
      }
    };
  }

  private static RowUse throughUse(
      Program.ThroughUse use, int relation, NodeContext context) {
    List<Program.Slot> visible = context.visible(relation);
    Leading leading =
        new Leading(
            use.address().codec(visible), use.parent().codec(visible), new UnsafeRow(visible.size()));
    return (change, outbox) -> {
      Leading.Way before = leading.way(change.before());
      Leading.Way after = leading.way(change.after());
      if (before == null ? after == null : before.equals(after)) {
        return;
      }
      if (before != null) {
        byte[] gone =
            ParentMessage.remove(change.timestamp(), change.epoch(), before.parent().toBytes());
        outbox.send(use.target(), before.to().toBytes(), gone);
      }
      if (after != null) {
        byte[] came =
            ParentMessage.put(
                change.timestamp(), change.epoch(), after.parent().toBytes(), Slice.EMPTY);
        outbox.send(use.target(), after.to().toBytes(), came);
      }
    };
  }

  /** Finds which parents a row leads where. */
  record Leading(KeyCodec address, KeyCodec parent, UnsafeRow row) {
    /** {@code parent} is empty where the row leads nobody. */
    record Way(Slice to, Slice parent) {}

    /** Null where there is no row, or it leads nowhere. */
    Way way(Slice bytes) {
      if (bytes == null || address.anyNull(BinaryRow.point(row, bytes))) {
        return null;
      }
      Slice led = parent.anyNull(row) ? Slice.EMPTY : Slice.of(parent.encode(row));
      return new Way(Slice.of(address.encode(row)), led);
    }
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
   * Null where the row does not exist, joins nothing, or has no time that is asked for; a row that
   * is merged and joins nothing has an address of its own, where no child ever comes.
   */
  private static byte[] parentAddress(
      Slice bytes,
      byte[] key,
      Program.ParentUse use,
      KeyCodec codec,
      UnsafeRow row,
      RowTime time) {
    if (bytes == null || (use.time() != null && time.of(bytes) == Marks.UNKNOWN)) {
      return null;
    }
    BinaryRow.point(row, bytes);
    if (!codec.anyNull(row)) {
      return codec.encode(row);
    }
    return use.merged() ? Address.keyOfNull(key) : null;
  }

  private static RowUse childUse(Program.ChildUse use, int relation, NodeContext context) {
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
          before, after, change.identity(), change.epoch(), change.timestamp(), outbox);
    };
  }

  /** Finds where a row stands as a child; a row that joins nothing is not evaluated. */
  final class Placing {
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
