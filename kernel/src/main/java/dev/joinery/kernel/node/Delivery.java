package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.BinaryRow;
import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Hash;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.Outbox;
import dev.joinery.kernel.program.DocumentProgram;
import dev.joinery.kernel.program.Program;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;

/**
 * Where a Fold's row goes: remembers what was sent last, and sends the next, to the sinks or to
 * what embeds the row.
 */
sealed interface Delivery {
  /** For the row that a Fold assembles. */
  static Delivery of(DocumentProgram.FoldProgram program, NodeContext context) {
    return program.product() >= 0
        ? new RootDelivery(program, context)
        : new UpwardDelivery(program, context);
  }

  /**
   * {@code overflowed} names the embed that holds too many rows, or is null; {@code row} is null
   * where it would be larger than it may be.
   */
  record Assembled(Slice row, Slice order, int flags, String overflowed) {}

  void read(ByteReader in);

  void write(ByteWriter out);

  /** Whether a document of this size, in bytes, may not be sent. */
  boolean isLimitBelow(long bytes);

  /** True where the receiver holds nothing. */
  boolean isIdle();

  /** What was sent stays: from now on nothing is known of it but its number. */
  void leave();

  /** Another row has the key: what was sent stays until that one is sent, or goes. */
  void beginAnew();

  /** The highest number that anything was sent under. */
  long highest();

  /** What is sent from now on stands above a number, where nothing is known of what was sent. */
  void beginAbove(long number);

  /** What was sent may be forgotten, so the receiver may hold what is not known. */
  void forgotten();

  /**
   * The sink may hold a document of this root that was never committed; all that was sent under a
   * number, or one below it, was.
   */
  void reopen(ByteReader pending, long committed);

  /** Sends again what was sent last; {@code own} is the own row. */
  void show(Assembled row, Slice own, Outbox outbox);

  /** {@code row} is null where there is none; {@code before} and {@code after} are own rows. */
  void send(Assembled row, Slice before, Slice after, Slice key, long timestamp, Outbox outbox);

  /** Gives documents to the sinks. */
  final class RootDelivery implements Delivery {
    private final UnsafeProjection key;
    private final UnsafeRow own;
    private final SentDocument last;

    RootDelivery(DocumentProgram.FoldProgram program, NodeContext context) {
      int relation = program.relation();
      this.own = new UnsafeRow(context.visible(relation).size());
      this.key = context.keyProjection(relation);
      this.last = new SentDocument(program.product(), context);
    }

    @Override
    public void read(ByteReader in) {
      last.read(in);
    }

    @Override
    public boolean isLimitBelow(long bytes) {
      return last.isLimitBelow(bytes);
    }

    @Override
    public boolean isIdle() {
      return last.isIdle();
    }

    @Override
    public long highest() {
      return last.version();
    }

    @Override
    public void leave() {
      last.leave();
    }

    @Override
    public void beginAnew() {
      last.beginAnew();
    }

    @Override
    public void beginAbove(long number) {
      last.beginAbove(number);
    }

    @Override
    public void forgotten() {
      last.forgotten();
    }

    @Override
    public void reopen(ByteReader pending, long committed) {
      last.reopen(pending, committed);
    }

    @Override
    public void write(ByteWriter out) {
      last.write(out);
    }

    @Override
    public void send(
        Assembled document, Slice before, Slice after, Slice key, long timestamp, Outbox outbox) {
      if (after == null) {
        last.rowWent();
      }
      if (document == null) {
        Slice own = after == null ? before : after;
        last.sendGone(() -> own == null ? null : keyRow(own), timestamp, outbox);
        return;
      }
      last.send(nextOf(document), () -> keyRow(after), timestamp, outbox);
    }

    @Override
    public void show(Assembled document, Slice own, Outbox outbox) {
      last.show(nextOf(document), () -> keyRow(own), outbox);
    }

    private static SentDocument.Next nextOf(Assembled document) {
      return new SentDocument.Next(document.row(), document.flags(), document.overflowed(), 0);
    }

    private Slice keyRow(Slice ownRow) {
      return BinaryRow.copy(key.apply(BinaryRow.point(own, ownRow)));
    }
  }

  /** Gives rows to the node that embeds them. */
  final class UpwardDelivery implements Delivery {
    private final Upward upward;
    private final UnsafeRow own;
    private Slice sentTo = Slice.EMPTY;
    private long hash;

    UpwardDelivery(DocumentProgram.FoldProgram program, NodeContext context) {
      List<Program.Slot> visible = context.visible(program.relation());
      this.upward = new Upward(program.upward(), visible);
      this.own = new UnsafeRow(visible.size());
    }

    @Override
    public void read(ByteReader in) {
      sentTo = in == null ? Slice.EMPTY : in.readBlob();
      hash = sentTo.isEmpty() ? 0 : in.readLong();
    }

    @Override
    public boolean isLimitBelow(long bytes) {
      return false;
    }

    @Override
    public boolean isIdle() {
      return sentTo.isEmpty();
    }

    @Override
    public long highest() {
      return 0;
    }

    @Override
    public void leave() {
      throw new IllegalStateException("what embeds a row has it as long as it is there");
    }

    @Override
    public void beginAnew() {
      leave();
    }

    @Override
    public void beginAbove(long number) {}

    @Override
    public void forgotten() {}

    @Override
    public void reopen(ByteReader pending, long committed) {
      throw new IllegalStateException("only roots are sent to sinks");
    }

    @Override
    public void show(Assembled row, Slice own, Outbox outbox) {
      throw new IllegalStateException("only roots are sent to sinks");
    }

    @Override
    public void write(ByteWriter out) {
      out.writeBlob(sentTo);
      if (!sentTo.isEmpty()) {
        out.writeLong(hash);
      }
    }

    @Override
    public void send(
        Assembled row, Slice before, Slice after, Slice key, long timestamp, Outbox outbox) {
      byte[] to = row == null ? null : upward.addressOf(BinaryRow.point(own, after));
      Upward.Placed old =
          sentTo.isEmpty() ? null : new Upward.Placed(sentTo.toBytes(), 0, Slice.EMPTY, Slice.EMPTY);
      Upward.Placed now =
          to == null ? null : new Upward.Placed(to, row.flags(), row.order(), row.row());
      long content = now == null ? 0 : contentOf(now);
      if (old != null && now != null && content == hash && sentTo.equals(Slice.of(to))) {
        return;
      }
      upward.send(old, now, key, 0, timestamp, outbox);
      sentTo = to == null ? Slice.EMPTY : Slice.of(to);
      hash = content;
    }

    private static long contentOf(Upward.Placed placed) {
      ByteWriter out = new ByteWriter(placed.row().length() + placed.order().length() + 8);
      out.writeByte(placed.flags()).writeBlob(placed.order()).writeRaw(placed.row());
      return Hash.longOf(out.array(), 0, out.size());
    }
  }
}
