package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.Marks;
import dev.joinery.kernel.message.Message;
import dev.joinery.kernel.message.Outbox;
import dev.joinery.kernel.message.PartialByTime;
import dev.joinery.kernel.program.GroupProgram;
import dev.joinery.kernel.state.State;
import java.util.Arrays;
import java.util.List;

/**
 * Remembers, under the columns that rows are grouped by, the rows of the last while up to the
 * watermark, and those above it; sends their document when its content changed, and a tombstone
 * when the last of them is too old.
 *
 * <p>The {@link Closing} before it tells it the watermark when that reaches a row, and when it
 * leaves it behind: between the two nothing changes of itself. A row that was left behind never
 * counts again, so it is forgotten, and what is told of it passed over.
 */
public final class Sliding implements Node {
  private static final int ROWS = 0;

  private final GroupProgram program;
  private final long size;
  private final NodeContext context;
  private final String product;
  private final GroupKey keys;
  private final GroupDocument document;
  private final SentDocument last;
  private final Aggregates aggregates;
  private final Aggregates sums;
  private final Retention retention;
  private RowsByTime rows;
  private long watermark;
  private int failures;

  public Sliding(int node, GroupProgram program, NodeContext context) {
    this.program = program;
    this.size = program.sliding().sizeMicros();
    this.context = context;
    this.product = context.productOf(program.assembler());
    this.keys =
        new GroupKey(program, context.program().assemblers().get(program.input()).type());
    this.document = new GroupDocument(program, context);
    this.last = new SentDocument(program.product(), context);
    this.retention = new Retention(context);
    this.aggregates = context.aggregates(node, 0);
    this.sums = aggregates.fresh();
  }

  @Override
  public void handle(Slice key, List<byte[]> messages, State state, Outbox outbox) {
    long timestamp = Message.latest(messages);
    open(state);
    for (byte[] message : messages) {
      if (Message.kind(message) == Message.CLOSED) {
        watermark = Math.max(watermark, Message.body(message).readLong());
      }
    }
    rows.removeUntil(oldest() - 1);
    messages.forEach(this::apply);
    send(keys.decode(key), timestamp, outbox);
    close(timestamp, state);
  }

  /** The earliest time that a row may have which counts now or will. */
  private long oldest() {
    return watermark == Marks.UNKNOWN ? Long.MIN_VALUE + 1 : watermark - size + 1;
  }

  private void open(State state) {
    byte[] stored = state.read();
    ByteReader in = stored == null ? null : new ByteReader(stored);
    last.read(in);
    if (in == null) {
      last.beginAbove(state.highestForgotten());
    }
    retention.read(in);
    watermark = in == null ? Marks.UNKNOWN : in.readLong();
    failures = in == null ? 0 : in.readVarInt();
    rows = RowsByTime.read(in, state, ROWS, sums);
  }

  private void apply(byte[] message) {
    switch (Message.kind(message)) {
      case Message.CLOSED -> {}
      case Message.PARTIAL_BY_TIME -> {
        PartialByTime told = PartialByTime.read(message);
        if (told.first() >= oldest()) {
          rows.add(told.first(), told.rows(), told.aggregates());
        }
      }
      default -> throw Message.unexpected(message);
    }
  }

  private void send(Object[] by, long timestamp, Outbox outbox) {
    long count =
        watermark == Marks.UNKNOWN ? 0 : rows.addUp(oldest(), watermark, aggregates);
    int failed = 0;
    if (count == 0) {
      last.sendGone(() -> document.key(by), timestamp, outbox);
    } else {
      Object[] columns = Arrays.copyOf(by, by.length + 1);
      columns[by.length] = size / 1e6;
      Slice content = document.row(columns, aggregates.result());
      failed = document.failures() + aggregates.overflows();
      SentDocument.Next next = SentDocument.Next.of(content, aggregates.exceeded());
      last.send(next, () -> document.key(by), timestamp, outbox);
    }
    context.counters().productFailures(product, failures, failed);
    failures = failed;
  }

  private boolean isOver() {
    return rows.areNone() && last.isIdle();
  }

  private void close(long timestamp, State state) {
    if (isOver() && last.version() <= state.highestForgotten()) {
      state.clear();
      return;
    }
    ByteWriter out = new ByteWriter(256);
    last.write(out);
    retention.write(isOver(), timestamp, out);
    out.writeLong(watermark).writeVarInt(failures);
    rows.write(out);
    state.write(out.toBytes());
    if (isOver()) {
      retention.expireLater(state);
    }
  }

  @Override
  public void expire(Slice key, List<Slice> entries, long timestamp, State state) {
    if (state.read() == null) {
      return;
    }
    open(state);
    if (isOver()) {
      retention.expire(last.version(), timestamp, state);
    }
  }
}
