package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.Message;
import dev.joinery.kernel.message.Outbox;
import dev.joinery.kernel.message.PartialByTime;
import dev.joinery.kernel.node.SessionPieces.Piece;
import dev.joinery.kernel.program.GroupProgram;
import dev.joinery.kernel.program.Program;
import dev.joinery.kernel.state.State;
import java.util.ArrayList;
import java.util.List;
import java.util.NavigableMap;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * Remembers, under the columns that rows are grouped by, the times of the rows, and how they are
 * cut into sessions; tells the {@link Closing} before a {@link Session} where each of these ends
 * that is cut. Whoever sends rows to the Session sends their times here, too.
 *
 * <p>It stands before that Closing, which may be told of no end by the Session behind it.
 */
public final class Cuts implements Node {
  private static final int SESSIONS = 0;
  private static final int ROWS = 1;
  private static final Slice WINDOW = Slice.of(new byte[] {1});

  private final GroupProgram group;
  private final Deadlines deadlines;
  private final Aggregates none = new Aggregates(List.of());
  private Sessions sessions;
  private RowsByTime rows;
  private boolean noted;

  public Cuts(GroupProgram.CutsProgram program, NodeContext context) {
    Program all = context.program();
    this.group = (GroupProgram) all.nodes().get(program.target());
    this.deadlines = Deadlines.before(program.target(), all);
  }

  /** The place of the one that hears of a Group's rows; null where there is none. */
  static Integer before(int target, Program program) {
    List<Program.NodeProgram> nodes = program.nodes();
    return IntStream.range(0, nodes.size())
        .filter(
            each ->
                nodes.get(each) instanceof GroupProgram.CutsProgram cuts
                    && cuts.target() == target)
        .boxed()
        .findFirst()
        .orElse(null);
  }

  /** Tells the one at a place of a message to its Session. */
  static void tell(int node, byte[] key, byte[] message, long timestamp, Outbox outbox) {
    PartialByTime told = PartialByTime.read(message);
    if (told.rows() != 0) {
      PartialByTime times = new PartialByTime(told.first(), told.last(), told.rows(), Slice.EMPTY);
      outbox.send(node, key, times.toBytes(timestamp));
    }
  }

  @Override
  public void handle(Slice key, List<byte[]> messages, State state, Outbox outbox) {
    open(state);
    NavigableMap<Long, List<PartialByTime>> changes = new TreeMap<>();
    for (byte[] message : messages) {
      PartialByTime change = changeOf(message);
      changes.computeIfAbsent(change.first(), any -> new ArrayList<>(1)).add(change);
    }
    NavigableMap<Long, Sessions.Kept> before = new TreeMap<>();
    changes.keySet().forEach(each -> sessions.findNear(each, each, before));
    List<Piece> after = new SessionPieces(group.session(), rows, before, changes).find();
    before.values().forEach(sessions::remove);
    after.forEach(each -> sessions.put(keptOf(each)));
    tellEnds(key, before, after, Message.latest(messages), outbox);
    close(state);
  }

  private PartialByTime changeOf(byte[] message) {
    if (Message.kind(message) != Message.PARTIAL_BY_TIME) {
      throw Message.unexpected(message);
    }
    PartialByTime change = PartialByTime.read(message);
    rows.add(change.first(), change.rows(), change.aggregates());
    return change;
  }

  private static Sessions.Kept keptOf(Piece piece) {
    return new Sessions.Kept(
        piece.start(), piece.last(), piece.run(), 0, 0, false, Slice.EMPTY, Slice.EMPTY);
  }

  /** Of what ends a gap after its last row, whoever sent that tells; of the rest each once. */
  private void tellEnds(
      Slice key,
      NavigableMap<Long, Sessions.Kept> before,
      List<Piece> after,
      long timestamp,
      Outbox outbox) {
    GroupProgram.SessionProgram shape = group.session();
    Set<Long> known =
        before.values().stream()
            .map(each -> shape.endOf(each.start(), each.last(), each.run()))
            .collect(Collectors.toSet());
    for (Piece each : after) {
      if (each.end() < each.last() + shape.gapMicros() && !known.contains(each.end())) {
        deadlines.send(key.toBytes(), each.end(), timestamp, outbox);
      }
    }
  }

  private void open(State state) {
    byte[] stored = state.read();
    ByteReader in = stored == null ? null : new ByteReader(stored);
    noted = in != null && in.readByte() != 0;
    sessions = Sessions.read(in, state, SESSIONS, group.session());
    rows = RowsByTime.read(in, state, ROWS, none);
  }

  private void close(State state) {
    if (group.isForgetting() && !noted && !sessions.areNone()) {
      forgetLater(state);
    }
    write(state);
  }

  private void write(State state) {
    ByteWriter out = new ByteWriter(64).writeByte(noted ? 1 : 0);
    sessions.write(out);
    rows.write(out);
    state.writeOrClear(out, sessions.areNone() && !noted);
  }

  private void forgetLater(State state) {
    int relation = group.relation();
    long from = Math.max(sessions.first().last(), state.watermark(relation));
    state.expireAtWatermark(relation, from + forgottenAfter(), WINDOW);
    noted = true;
  }

  private long forgottenAfter() {
    return group.sessionsForgottenAfter(deadlines.allowedMicros());
  }

  @Override
  public void expire(Slice key, List<Slice> entries, long timestamp, State state) {
    if (state.read() == null) {
      return;
    }
    open(state);
    noted = false;
    rows.removeUntil(
        sessions.removeUntil(state.watermark(group.relation()) - forgottenAfter()));
    if (sessions.areNone()) {
      state.forget(0);
      return;
    }
    forgetLater(state);
    write(state);
  }
}
