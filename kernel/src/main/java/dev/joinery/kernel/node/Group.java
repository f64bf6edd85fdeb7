package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.Message;
import dev.joinery.kernel.message.Outbox;
import dev.joinery.kernel.program.GroupProgram;
import dev.joinery.kernel.state.State;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Supplier;

/**
 * Remembers, under the columns that rows are grouped by and the start of their window, how many
 * rows the group has and its aggregates; sends the group's document when its content changed and a
 * tombstone when its last row went. Behind a {@link Closing} it sends in batches only in which that
 * told it so, and assembles nothing in the others.
 *
 * <p>A window is forgotten, rows and all, once the watermark is so long past its end that no row
 * comes to it any more; what was sent stays. Where rows of a snapshot may come, none is: they count
 * however old they are.
 *
 * <p>The rows themselves are not kept: what they add or take back is told as what aggregates change
 * by, and what an aggregate must know of them it keeps value by value.
 */
public final class Group implements Node {
  /** Of a window: it is forgotten by the watermark, not as a {@link Retention} forgets. */
  private static final Slice WINDOW = Slice.of(new byte[] {1});

  private final GroupProgram program;
  private final NodeContext context;
  private final Kept kept;
  private final SentDocument last;
  private final Retention retention;
  private final GroupKey keys;
  private final Windows windows;
  private final GroupDocument document;
  private final String product;
  private final boolean waits;

  /** How many expressions failed over the document that was made last. */
  private int failures;

  public Group(int node, GroupProgram program, NodeContext context) {
    this.program = program;
    this.context = context;
    this.product = context.productOf(program.assembler());
    this.waits = Deadlines.before(node, context.program()) != null;
    this.kept = new Kept(context.aggregates(node, 0));
    this.last = new SentDocument(program.product(), context);
    this.retention = new Retention(context);
    this.keys =
        new GroupKey(program, context.program().assemblers().get(program.input()).type());
    this.windows = program.window() == null ? null : Windows.of(program.window());
    this.document = new GroupDocument(program, context);
  }

  @Override
  public void handle(Slice key, List<byte[]> messages, State state, Outbox outbox) {
    long timestamp = Message.latest(messages);
    byte[] stored = state.read();
    open(stored, state);
    long committed = stored == null ? state.highestForgottenBefore() : last.version();
    List<byte[]> changes = new ArrayList<>(messages.size());
    boolean sends = !waits;
    for (byte[] message : messages) {
      switch (Message.kind(message)) {
        case Message.PENDING -> {
          last.reopen(Message.body(message), committed);
          sends |= !last.isIdle(); // It was closed before.
        }
        case Message.CLOSED -> sends = true;
        default -> changes.add(message);
      }
    }
    kept.apply(changes);
    if (sends) {
      send(key, timestamp, outbox);
    }
    boolean written = close(timestamp, state);
    if (stored == null && written && program.isForgetting()) {
      forgetLater(key, state);
    }
  }

  /**
   * Where it waits, once it is closed; and not before what the watermark has reached, since a
   * partition that is new may bring rows for a window whose time is over.
   */
  private void forgetLater(Slice group, State state) {
    long end = endOf(keys.decode(group));
    long from = Math.max(end, state.watermark(program.relation()));
    long retentionMicros = program.late().retentionMicros();
    long over =
        waits ? Math.max(retentionMicros, program.late().allowedMicros()) : retentionMicros;
    state.expireAtWatermark(program.relation(), from + over, WINDOW);
  }

  private void open(byte[] stored, State state) {
    ByteReader in = stored == null ? null : new ByteReader(stored);
    last.read(in);
    retention.read(in);
    kept.read(in, state);
    failures = in != null && in.hasMore() ? in.readVarInt() : 0;
    if (in == null) {
      last.beginAbove(state.highestForgotten());
      if (program.isForgetting() && last.version() > 0) {
        last.forgotten();
      }
    }
  }

  private void send(Slice group, long timestamp, Outbox outbox) {
    Supplier<Slice> keyRow = () -> document.key(keys.decode(group));
    if (kept.size() == 0) {
      failures = 0;
      last.sendGone(keyRow, timestamp, outbox);
      return;
    }
    Slice row = rowOf(group);
    int failed = document.failures() + kept.aggregates.overflows();
    context.counters().productFailures(product, failures, failed);
    failures = failed;
    SentDocument.Next next = SentDocument.Next.of(row, kept.aggregates.exceeded());
    last.send(next, keyRow, timestamp, outbox);
  }

  private Slice rowOf(Slice group) {
    return document.row(ownColumns(keys.decode(group)), kept.aggregates.result());
  }

  @Override
  public void show(Slice group, State state, Outbox outbox) {
    open(state.read(), state);
    if (kept.size() > 0 && !last.isIdle()) {
      SentDocument.Next row = SentDocument.Next.of(rowOf(group), 0);
      last.show(row, () -> document.key(keys.decode(group)), outbox);
    }
  }

  /** The columns of a group's key, then the window's end and its seconds where it has one. */
  private Object[] ownColumns(Object[] decoded) {
    if (windows == null) {
      return decoded;
    }
    Object[] columns = Arrays.copyOf(decoded, program.by() + 3);
    long start = (Long) decoded[program.by()];
    long end = endOf(decoded);
    columns[program.by() + 1] = end;
    columns[program.by() + 2] = (end - start) / 1e6;
    return columns;
  }

  private long endOf(Object[] decoded) {
    boolean told = decoded.length > program.by() + 1;
    return told
        ? (Long) decoded[program.by() + 1]
        : windows.endOf((Long) decoded[program.by()]);
  }

  /** Returns whether anything is kept. */
  private boolean close(long timestamp, State state) {
    boolean gone = kept.size() == 0;
    if (gone && last.isIdle() && last.version() <= state.highestForgotten()) {
      kept.forget();
      state.clear();
      return false;
    }
    ByteWriter out = new ByteWriter(128);
    last.write(out);
    retention.write(gone, timestamp, out);
    kept.write(out);
    if (failures > 0 && !gone) {
      out.writeVarInt(failures);
    }
    state.write(out.toBytes());
    if (gone && last.isIdle()) {
      retention.expireLater(state);
    }
    return true;
  }

  @Override
  public void expire(Slice key, List<Slice> entries, long timestamp, State state) {
    byte[] stored = state.read();
    if (stored == null) {
      return;
    }
    open(stored, state);
    if (entries.contains(WINDOW)) {
      kept.forget();
      state.forget(last.version());
      return;
    }
    if (kept.size() == 0 && last.isIdle()) {
      retention.expire(last.version(), timestamp, state);
    }
  }

  /** How many rows there are, and aggregates that can take back any of them. */
  private static final class Kept {
    private final Aggregates aggregates;
    private long rows;

    Kept(Aggregates aggregates) {
      this.aggregates = aggregates;
    }

    /** Null where there is nothing. */
    void read(ByteReader in, State state) {
      rows = in != null && in.hasMore() ? in.readVarLong() : 0;
      aggregates.open(rows == 0 ? null : in, state);
    }

    /** Removes what stands elsewhere than in the value. */
    void forget() {
      aggregates.drop();
    }

    void apply(List<byte[]> messages) {
      for (byte[] message : messages) {
        if (Message.kind(message) != Message.PARTIAL) {
          throw Message.unexpected(message);
        }
        ByteReader in = Message.body(message);
        rows += in.readLong();
        aggregates.merge(in);
      }
      if (rows < 0) {
        throw new IllegalStateException("a group of " + rows + " rows");
      }
    }

    long size() {
      return rows;
    }

    void write(ByteWriter out) {
      if (rows == 0) {
        aggregates.drop();
        return;
      }
      out.writeVarLong(rows);
      aggregates.write(out);
    }
  }
}
