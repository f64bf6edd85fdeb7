package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.BinaryRow;
import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.Marks;
import dev.joinery.kernel.message.Message;
import dev.joinery.kernel.message.Outbox;
import dev.joinery.kernel.message.PartialByTime;
import dev.joinery.kernel.node.SessionPieces.Piece;
import dev.joinery.kernel.program.GroupProgram;
import dev.joinery.kernel.state.Mapped;
import dev.joinery.kernel.state.State;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Set;
import java.util.TreeMap;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;

/**
 * Remembers, under the columns that rows are grouped by, the sessions of the rows: maximal runs
 * whose neighbours are less than the gap apart, cut where they are too long. Sends the document of
 * each session that is another than before, and a tombstone for each start that is none any more.
 *
 * <p>Behind a {@link Closing} it sends sessions that are over by the watermark: that tells it the
 * watermark at the end that each row would give its session alone, and the last of these is the end;
 * where it may be cut before, at the cut, too, of which {@link Cuts} tells.
 *
 * <p>A session is changed by what a batch adds to it and takes from it. What its rows of each time
 * add up to is looked at only where it falls apart; where none does, that is not kept.
 *
 * <p>All that one batch sends for an address has one version, above all before it. So nothing needs
 * to be remembered of a session that is gone.
 */
public final class Session implements Node {
  private static final int SESSIONS = 0;
  private static final int ROWS = 1;

  /** Of sessions: they are forgotten by the watermark, not as a {@link Retention} forgets. */
  private static final Slice WINDOW = Slice.of(new byte[] {1});

  private final GroupProgram program;
  private final GroupProgram.SessionProgram shape;
  private final NodeContext context;
  private final String product;
  private final GroupKey keys;
  private final GroupDocument document;
  private final SentDocument last;
  private final Retention retention;
  private final Aggregates aggregates;
  private final Aggregates sums;
  private Sessions sessions;
  private RowsByTime rows;
  private final Deadlines deadlines;
  private final UnsafeRow keyRow;
  private long version;

  /** By their starts, sessions that the sink may hold as they were never committed. */
  private final NavigableMap<Long, Slice> pending = new TreeMap<>();

  /** Whether it will be looked at for sessions that are forgotten. */
  private boolean noted;

  /** Whether there may have been sessions that are forgotten. */
  private boolean lost;

  /** The watermark that was told last, less what is allowed; all is over where none is waited for. */
  private long watermark;

  /** Sessions that end until then are waited for no more, though the watermark is not there. */
  private long endedUntil;

  public Session(int node, GroupProgram program, NodeContext context) {
    this.program = program;
    this.shape = program.session();
    this.context = context;
    this.product = context.productOf(program.assembler());
    this.deadlines = Deadlines.before(node, context.program());
    this.keys =
        new GroupKey(program, context.program().assemblers().get(program.input()).type());
    this.document = new GroupDocument(program, context);
    this.last = new SentDocument(program.product(), context);
    this.retention = new Retention(context);
    this.keyRow = new UnsafeRow(program.by() + 1);
    this.aggregates = context.aggregates(node, 0);
    this.sums = aggregates.fresh();
  }

  @Override
  public void handle(Slice key, List<byte[]> messages, State state, Outbox outbox) {
    long timestamp = Message.latest(messages);
    boolean known = open(state);
    long committed = known ? version : state.highestForgottenBefore();
    NavigableMap<Long, List<PartialByTime>> changes = new TreeMap<>();
    long watermarkBefore = watermark;
    endedUntil = Marks.UNKNOWN;
    pending.clear();
    for (byte[] message : messages) {
      switch (Message.kind(message)) {
        case Message.CLOSED -> hear(Message.body(message));
        case Message.PENDING -> reopen(Message.body(message).rest(), committed);
        default -> {
          PartialByTime change = changeOf(message);
          changes.computeIfAbsent(change.first(), any -> new ArrayList<>(1)).add(change);
        }
      }
    }
    NavigableMap<Long, Sessions.Kept> before = new TreeMap<>();
    changes.values().stream()
        .flatMap(Collection::stream)
        .forEach(each -> sessions.findNear(each.first(), each.last(), before));
    pending.keySet().forEach(each -> sessions.findNear(each, each, before));
    if (Math.max(watermark, endedUntil) > watermarkBefore) {
      sessions.findEnding(watermarkBefore, Math.max(watermark, endedUntil), before);
    }
    List<Piece> after = new SessionPieces(shape, rows, before, changes).find();
    Sending sending = new Sending(keys.decode(key), watermarkBefore, timestamp, outbox);
    sending.sendGone(before, after);
    sending.sendChanged(before, after, changes);
    sending.sendNeverThere(before, after);
    version = sending.highest;
    close(timestamp, state);
  }

  @Override
  public void show(Slice key, State state, Outbox outbox) {
    open(state);
    pending.clear();
    Sending sending = new Sending(keys.decode(key), watermark, 0, outbox);
    outbox.later(new Mapped<>(sessions.all(), each -> () -> sending.show(each)));
  }

  private void hear(ByteReader told) {
    long time = told.readLong();
    long deadline = told.readLong();
    if (time != Marks.UNKNOWN) {
      watermark = Math.max(watermark, time - deadlines.allowedMicros());
    }
    if (deadline > time) {
      endedUntil = Math.max(endedUntil, deadline - deadlines.allowedMicros());
    }
  }

  /** The sink may hold a session that was never committed: all up to a version were. */
  private void reopen(Slice body, long committed) {
    ByteReader in = new ByteReader(body);
    long told = in.readLong();
    if (told > committed) {
      version = Math.max(version, told);
      pending.put(BinaryRow.point(keyRow, in.rest()).getLong(program.by()), body);
    }
  }

  /** Returns whether anything was kept. */
  private boolean open(State state) {
    byte[] stored = state.read();
    ByteReader in = stored == null ? null : new ByteReader(stored);
    version = in == null ? state.highestForgotten() : in.readLong();
    lost = in == null && version > 0 && program.isForgetting();
    retention.read(in);
    watermark = deadlines == null ? Long.MAX_VALUE : in == null ? Marks.UNKNOWN : in.readLong();
    sessions = Sessions.read(in, state, SESSIONS, shape);
    rows = shape.divides() ? RowsByTime.read(in, state, ROWS, sums) : null;
    noted = in != null && in.hasMore() && in.readByte() != 0;
    return in != null;
  }

  private void close(long timestamp, State state) {
    boolean gone = sessions.areNone();
    if (gone && version <= state.highestForgotten()) {
      state.clear();
      return;
    }
    if (program.isForgetting() && !gone && !noted) {
      forgetLater(state);
    }
    ByteWriter out = new ByteWriter(256).writeLong(version);
    retention.write(gone, timestamp, out);
    write(out, state);
    if (gone) {
      retention.expireLater(state);
    }
  }

  private void write(ByteWriter out, State state) {
    if (deadlines != null) {
      out.writeLong(watermark);
    }
    sessions.write(out);
    if (rows != null) {
      rows.write(out);
    }
    state.write(out.writeByte(noted ? 1 : 0).toBytes());
  }

  /** Has the first session looked at once it is over; not before what the watermark has reached. */
  private void forgetLater(State state) {
    int relation = program.relation();
    long from = Math.max(sessions.first().last(), state.watermark(relation));
    state.expireAtWatermark(relation, from + forgottenAfter(), WINDOW);
    noted = true;
  }

  private long forgottenAfter() {
    return program.sessionsForgottenAfter(deadlines == null ? 0 : deadlines.allowedMicros());
  }

  @Override
  public void expire(Slice key, List<Slice> entries, long timestamp, State state) {
    if (!open(state)) {
      return;
    }
    if (entries.contains(WINDOW)) {
      forgetSessions(state);
    } else if (sessions.areNone()) {
      retention.expire(version, timestamp, state);
    }
  }

  private void forgetSessions(State state) {
    noted = false;
    long gone = sessions.removeUntil(state.watermark(program.relation()) - forgottenAfter());
    if (gone != Marks.UNKNOWN && rows != null) {
      rows.removeUntil(gone);
    }
    ByteWriter out = new ByteWriter(256).writeLong(version);
    retention.writeAgain(out);
    if (!sessions.areNone()) {
      forgetLater(state);
    }
    write(out, state);
    if (gone != Marks.UNKNOWN && sessions.areNone()) {
      state.forget(version);
    }
  }

  /** Adds what a message changes to the rows that are kept. */
  private PartialByTime changeOf(byte[] message) {
    if (Message.kind(message) != Message.PARTIAL_BY_TIME) {
      throw Message.unexpected(message);
    }
    PartialByTime change = PartialByTime.read(message);
    if (rows != null) {
      rows.add(change.first(), change.rows(), change.aggregates());
    }
    return change;
  }

  /** Sends what one batch changed of one address. */
  private final class Sending {
    private final Object[] columns;
    private final long watermarkBefore;
    private final long timestamp;
    private final Outbox outbox;
    private long highest = version;

    Sending(Object[] by, long watermarkBefore, long timestamp, Outbox outbox) {
      this.columns = Arrays.copyOf(by, by.length + 3);
      this.watermarkBefore = watermarkBefore;
      this.timestamp = timestamp;
      this.outbox = outbox;
    }

    void sendGone(NavigableMap<Long, Sessions.Kept> before, List<Piece> after) {
      Set<Long> starts = new HashSet<>();
      after.forEach(each -> starts.add(each.start()));
      for (Sessions.Kept each : before.values()) {
        if (!starts.contains(each.start())) {
          read(each.start(), each);
          last.sendGone(() -> keyOf(each.start()), timestamp, outbox);
          highest = Math.max(highest, last.version());
          sessions.remove(each);
        }
      }
    }

    /** Takes back what the sink may hold, and nobody knows of. */
    void sendNeverThere(NavigableMap<Long, Sessions.Kept> before, List<Piece> after) {
      Set<Long> known = new HashSet<>(before.keySet());
      after.forEach(each -> known.add(each.start()));
      for (long start : pending.keySet()) {
        if (!known.contains(start)) {
          read(start, null);
          last.sendGone(() -> keyOf(start), timestamp, outbox);
          highest = Math.max(highest, last.version());
        }
      }
    }

    /** {@code known} is null where there was none that began then. */
    private void read(long start, Sessions.Kept known) {
      last.read(known == null ? null : new ByteReader(known.sent()));
      last.beginAbove(version);
      if (known == null && lost) {
        last.forgotten();
      }
      Slice reopened = pending.get(start);
      if (reopened != null) {
        last.reopen(new ByteReader(reopened));
      }
    }

    private Slice keyOf(long start) {
      columns[program.by()] = start;
      return document.key(columns);
    }

    void sendChanged(
        NavigableMap<Long, Sessions.Kept> before,
        List<Piece> after,
        NavigableMap<Long, List<PartialByTime>> changes) {
      Map<Long, Integer> parts = new HashMap<>();
      List<List<Sessions.Kept>> met = after.stream().map(each -> meeting(each, before)).toList();
      met.forEach(olds -> olds.forEach(old -> parts.merge(old.start(), 1, Integer::sum)));
      for (int i = 0; i < after.size(); i++) {
        Piece piece = after.get(i);
        List<Sessions.Kept> olds = met.get(i);
        Sessions.Kept known = before.get(piece.start());
        boolean whole = olds.stream().allMatch(old -> parts.get(old.start()) == 1);
        List<PartialByTime> ofPiece = changesOf(piece, olds, changes);
        boolean asked = pending.containsKey(piece.start());
        if (asked || !whole || !ofPiece.isEmpty() || !isThere(piece, olds) || closes(piece, known)) {
          long count = aggregate(piece, whole ? olds : null, ofPiece);
          send(piece, count, known, olds);
        }
      }
    }

    /** The sessions before that a piece holds rows of. */
    private static List<Sessions.Kept> meeting(
        Piece piece, NavigableMap<Long, Sessions.Kept> before) {
      List<Sessions.Kept> met = new ArrayList<>(2);
      Map.Entry<Long, Sessions.Kept> below = before.lowerEntry(piece.start());
      if (below != null && below.getValue().last() >= piece.start()) {
        met.add(below.getValue());
      }
      met.addAll(before.subMap(piece.start(), true, piece.last(), true).values());
      return met;
    }

    private boolean closes(Piece piece, Sessions.Kept known) {
      boolean before = piece.end() <= watermarkBefore || known != null && known.ended();
      return !before && (piece.end() <= watermark || hasEnded(piece, known));
    }

    /** Once ended, what begins at the same time stays so. */
    private boolean hasEnded(Piece piece, Sessions.Kept known) {
      return piece.end() <= endedUntil || known != null && known.ended();
    }

    private static boolean isThere(Piece piece, List<Sessions.Kept> olds) {
      return olds.size() == 1
          && olds.get(0).start() == piece.start()
          && olds.get(0).last() == piece.last()
          && olds.get(0).run() == piece.run();
    }

    /** What came into a piece, and what went from the sessions that it is made of. */
    private static List<PartialByTime> changesOf(
        Piece piece, List<Sessions.Kept> olds, NavigableMap<Long, List<PartialByTime>> changes) {
      long from = piece.start();
      long to = piece.last();
      for (Sessions.Kept old : olds) {
        from = Math.min(from, old.start());
        to = Math.max(to, old.last());
      }
      return changes.subMap(from, true, to, true).values().stream()
          .flatMap(Collection::stream)
          .toList();
    }

    /** {@code olds} is null where only the rows tell what a piece adds up to. */
    private long aggregate(Piece piece, List<Sessions.Kept> olds, List<PartialByTime> changes) {
      aggregates.clear();
      if (olds == null) {
        return rows.addUp(piece.start(), piece.last(), aggregates);
      }
      long count = 0;
      for (Sessions.Kept old : olds) {
        count += old.rows();
        aggregates.merge(new ByteReader(old.aggregates()));
      }
      for (PartialByTime each : changes) {
        count += each.rows();
        aggregates.merge(new ByteReader(each.aggregates()));
      }
      return aggregates.keepEnds()
          ? count
          : rows.addUp(piece.start(), piece.last(), aggregates);
    }

    private void send(Piece piece, long count, Sessions.Kept known, List<Sessions.Kept> olds) {
      read(piece.start(), known);
      int failures = 0;
      boolean ended = hasEnded(piece, known);
      if (ended || piece.end() <= watermark) {
        failures = sendDocument(piece, olds);
      } else {
        last.sendGone(() -> keyOf(piece.start()), timestamp, outbox);
      }
      highest = Math.max(highest, last.version());
      sessions.put(
          new Sessions.Kept(
              piece.start(), piece.last(), piece.run(), count, failures, ended, sent(), sums()));
    }

    void show(Sessions.Kept known) {
      last.read(new ByteReader(known.sent()));
      last.beginAbove(0); // What is kept may be above the version that it was sent under.
      if (!last.isIdle()) {
        Piece piece = sessions.pieceOf(known);
        aggregate(piece, List.of(known), List.of());
        SentDocument.Next row = SentDocument.Next.of(rowOf(piece), 0);
        last.show(row, () -> keyOf(piece.start()), outbox);
      }
    }

    private Slice rowOf(Piece piece) {
      columns[program.by()] = piece.start();
      columns[program.by() + 1] = piece.end();
      columns[program.by() + 2] = (piece.end() - piece.start()) / 1e6;
      return document.row(columns, aggregates.result());
    }

    /** Returns how many expressions failed over it. */
    private int sendDocument(Piece piece, List<Sessions.Kept> olds) {
      Slice content = rowOf(piece);
      int failures = document.failures() + aggregates.overflows();
      int failedBefore = olds.stream().mapToInt(Sessions.Kept::failures).sum();
      context.counters().productFailures(product, failedBefore, failures);
      SentDocument.Next next = SentDocument.Next.of(content, aggregates.exceeded());
      last.send(next, () -> keyOf(piece.start()), timestamp, outbox);
      return failures;
    }

    private Slice sent() {
      ByteWriter out = new ByteWriter(24);
      last.write(out);
      return Slice.of(out.toBytes());
    }

    private Slice sums() {
      ByteWriter out = new ByteWriter(64);
      aggregates.write(out);
      return Slice.of(out.toBytes());
    }
  }
}
