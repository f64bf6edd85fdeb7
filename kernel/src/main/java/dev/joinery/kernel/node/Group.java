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
 * comes to it any more; what was sent stays.
 *
 * <p>The rows themselves are not kept: what they add or take back is told as what aggregates change
 * by, and what an aggregate must know of them it keeps value by value.
 */
public final class Group implements Node {
  /** Of a window: it is forgotten by the watermark, not as a {@link Retention} forgets. */
  private static final Slice WINDOW = Slice.of(new byte[] {1});

  private final int node;
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

  /** Reads what was stored, beside what is being changed; made where an expression fails. */
  private Group twin;

  public Group(int node, GroupProgram program, NodeContext context) {
    this.node = node;
    this.program = program;
    this.context = context;
    this.product = context.productOf(program.assembler());
    this.waits = Deadlines.before(node, context.program()) != null;
    Aggregates aggregates = context.aggregates(node, 0);
    this.kept = new Kept(aggregates, aggregates.fresh(), context, product);
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
    List<byte[]> changes = new ArrayList<>(messages.size());
    boolean sends = !waits;
    for (byte[] message : messages) {
      switch (Message.kind(message)) {
        case Message.PENDING -> last.reopen(Message.body(message));
        case Message.CLOSED -> sends = true;
        default -> changes.add(message);
      }
    }
    kept.apply(changes);
    if (sends) {
      send(key, evaluated(stored), timestamp, state, outbox);
    }
    boolean written = close(timestamp, state);
    if (stored == null && written && program.isForgetting()) {
      forgetLater(key, state);
    }
  }

  /**
   * Where it waits, once it is closed; and not before what the watermark has reached, since a row of
   * a snapshot may come to a window whose time is over.
   */
  private void forgetLater(Slice group, State state) {
    long end = endOf(keys.decode(group));
    long from = Math.max(end, state.watermark(program.relation()));
    long retentionMicros = program.late().retentionMicros();
    long over =
        waits ? Math.max(retentionMicros, program.late().allowedMicros()) : retentionMicros;
    state.expireAtWatermark(program.relation(), from + over, WINDOW);
  }

  /** What was stored, if expressions were evaluated over it; else they fail for the first time. */
  private byte[] evaluated(byte[] stored) {
    if (waits && last.isIdle()) {
      kept.neverTold();
      return null;
    }
    return stored;
  }

  private void open(byte[] stored, State state) {
    ByteReader in = stored == null ? null : new ByteReader(stored);
    last.read(in);
    retention.read(in);
    kept.read(in == null ? Slice.EMPTY : in.rest(), state);
    if (in == null) {
      last.beginAbove(state.highestForgotten());
    }
  }

  private void send(
      Slice group, byte[] stored, long timestamp, State state, Outbox outbox) {
    Supplier<Slice> keyRow = () -> document.key(keys.decode(group));
    if (kept.size() == 0) {
      last.sendGone(keyRow, timestamp, outbox);
      return;
    }
    Slice row = rowOf(group);
    if (document.failures() > 0) {
      int failures = document.failures();
      context.counters().productFailures(product, failuresBefore(group, stored, state), failures);
    }
    SentDocument.Next next = SentDocument.Next.of(row, kept.aggregates.exceeded());
    last.send(next, keyRow, timestamp, outbox);
  }

  private int failuresBefore(Slice group, byte[] stored, State state) {
    if (twin == null) {
      twin = new Group(node, program, context);
    }
    twin.open(stored, state);
    if (twin.kept.size() == 0) {
      return 0;
    }
    twin.rowOf(group);
    return twin.document.failures();
  }

  private Slice rowOf(Slice group) {
    return document.row(ownColumns(keys.decode(group)), kept.results());
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
    out.writeRaw(kept.write());
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
    private final Aggregates before;
    private final NodeContext context;
    private final String product;
    private Slice stored;
    private State state;
    private long rows;

    Kept(Aggregates aggregates, Aggregates before, NodeContext context, String product) {
      this.aggregates = aggregates;
      this.before = before;
      this.context = context;
      this.product = product;
    }

    void read(Slice bytes, State state) {
      stored = bytes;
      this.state = state;
      ByteReader in = bytes.isEmpty() ? null : new ByteReader(bytes);
      rows = in == null ? 0 : in.readVarLong();
      aggregates.open(in, state);
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

    /** What was read was told to nobody. */
    void neverTold() {
      stored = Slice.EMPTY;
    }

    Slice results() {
      Slice results = aggregates.result();
      if (aggregates.overflows() > 0) {
        context.counters().productFailures(product, overflowsBefore(), aggregates.overflows());
      }
      return results;
    }

    private int overflowsBefore() {
      if (stored.isEmpty()) {
        return 0;
      }
      ByteReader in = new ByteReader(stored);
      in.readVarLong();
      before.open(in, state);
      before.result();
      return before.overflows();
    }

    Slice write() {
      if (rows == 0) {
        aggregates.drop();
        return Slice.EMPTY;
      }
      ByteWriter out = new ByteWriter(64).writeVarLong(rows);
      aggregates.write(out);
      return new Slice(out.array(), 0, out.size());
    }
  }
}
