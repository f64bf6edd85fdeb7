package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.BinaryRow;
import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.BranchMessage;
import dev.joinery.kernel.message.ChildMessage;
import dev.joinery.kernel.message.FannedMessage;
import dev.joinery.kernel.message.Marks;
import dev.joinery.kernel.message.Message;
import dev.joinery.kernel.message.Outbox;
import dev.joinery.kernel.message.RawChange;
import dev.joinery.kernel.node.Delivery.Assembled;
import dev.joinery.kernel.program.DocumentProgram;
import dev.joinery.kernel.state.State;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;

/**
 * Remembers, under a row's key, the row and the children of its embeds; sends the assembled
 * document when its content changed and a tombstone when it goes, or, deeper in a tree, the
 * assembled row to what embeds it.
 */
public final class Fold implements Node {
  private static final Slice WHOLE = Slice.EMPTY;

  private final int node;
  private final DocumentProgram.FoldProgram program;
  private final NodeContext context;
  private final RelationRows rows;
  private final Assembler assembler;
  private final Branch[] branches;
  private final UnsafeRow own;
  private final Delivery delivery;
  private final String product;
  private final Decision decision;
  private final Keeping keeping;
  private final RowTime time;
  /** Reads what was stored, beside what is being changed; made where an expression fails. */
  private Fold twin;

  /** How many expressions failed over the row that was assembled last. */
  private int failures;

  /** The same of what was stored, which is kept where its children are in pages. */
  private int failuresKnown;

  public Fold(int node, DocumentProgram.FoldProgram program, NodeContext context) {
    this.node = node;
    this.program = program;
    this.context = context;
    this.rows = context.rows(program.relation());
    this.assembler = context.assembler(program.assembler());
    this.own = new UnsafeRow(rows.visibleColumns());
    this.branches = new Branch[program.branches().size()];
    for (int i = 0; i < branches.length; i++) {
      Aggregates aggregates = context.aggregates(node, i);
      branches[i] =
          new Branch(
              program.branches().get(i),
              i,
              program.kept() == null,
              aggregates,
              rows.visibleColumns());
    }
    this.decision = new Decision(node, program, context);
    this.keeping = new Keeping(program.kept(), context);
    this.time =
        new RowTime(
            program.kept() == null ? null : program.branches().get(0).within().time(),
            rows.visibleColumns());
    this.product = context.productOf(program.assembler());
    this.delivery = Delivery.of(program, context);
  }

  @Override
  public void handle(Slice key, List<byte[]> messages, State state, Outbox outbox) {
    long timestamp = Message.latest(messages);
    byte[] stored = state.read();
    Slice storedState = read(stored, state);
    long committed = stored == null ? state.highestForgottenBefore() : delivery.highest();
    if (stored == null) {
      delivery.beginAbove(state.highestForgotten());
      if (keeping.forgets() && state.highestForgotten() > 0) {
        delivery.forgotten();
      }
    }
    Slice knownState = leaveFormer(forgetOver(storedState), messages);
    boolean timed = isTimed(knownState);
    Slice before = view(knownState);
    Slice ownState = applyOwn(knownState, messages, timestamp, outbox);
    Slice after = ownState == knownState ? before : view(ownState);
    failures = 0;
    forgetBranches(messages);
    applyBranches(messages);
    for (byte[] message : messages) {
      if (Message.kind(message) == Message.PENDING) {
        delivery.reopen(Message.body(message), committed);
      }
    }
    decision.hear(messages, after);
    decision.ask(before, after, state);
    Assembled assembled = after == null || !decision.isMade(after) ? nothing() : assemble(after);
    countChoices();
    if (failures > 0) {
      int failed = knownState == storedState ? failuresBefore(stored) : 0;
      context.counters().productFailures(product, failed, failures);
    }
    delivery.send(assembled, before, after, key, timestamp, outbox);
    if (isBlank(ownState, state)) {
      dropPages();
      state.clear();
      return;
    }
    state.write(write(ownState));
    if (!timed) {
      noteOver(ownState, state);
    }
    if (isForgettable(ownState)) {
      long over = ownState.isEmpty() ? timestamp + rows.retentionMicros() : overAt(ownState);
      state.expireAfter(Math.max(timestamp, over), WHOLE);
    }
  }

  @Override
  public void show(Slice key, State state, Outbox outbox) {
    Slice row = view(read(state.read(), state));
    Assembled assembled = row == null || delivery.isIdle() ? null : assemble(row);
    if (assembled != null) {
      delivery.show(assembled, row, outbox);
    }
  }

  @Override
  public void trace(Slice key, Slice parent, State state, Tracing tracing) {
    Slice ownState = read(state.read(), state);
    if (program.raw()) {
      RowCell cell = RowCell.read(ownState);
      if (cell.exists) {
        tracing.cell(program.relation(), cell);
      }
    } else if (view(ownState) != null) {
      tracing.seen(program.relation(), view(ownState));
    }
    for (int i = 0; i < branches.length; i++) {
      int branch = i;
      branches[i].forEachKey(child -> tracing.below(branch, child));
    }
  }

  @Override
  public void expire(Slice key, List<Slice> entries, long timestamp, State state) {
    byte[] stored = state.read();
    if (stored == null) {
      return;
    }
    Slice ownState = read(stored, state);
    failures = failuresKnown;
    if (Keeping.isTold(entries)) {
      ownState = forgetOver(ownState);
      if (ownState.isEmpty() && Arrays.stream(branches).noneMatch(Branch::keepsChildren)) {
        forget(state);
        return;
      }
      state.write(write(ownState));
      noteOver(ownState, state);
    }
    if (!isForgettable(ownState)) {
      return;
    }
    if (overAt(ownState) < timestamp) {
      forget(state);
    } else {
      state.expireAfter(overAt(ownState), WHOLE);
    }
  }

  private void forget(State state) {
    dropPages();
    state.forget(delivery.highest());
  }

  private void dropPages() {
    for (Branch branch : branches) {
      branch.drop();
    }
  }

  /** Returns the row's state, empty where it is over; its children go by times of their own. */
  private Slice forgetOver(Slice ownState) {
    if (keeping.overBefore() == Marks.UNKNOWN) {
      return ownState;
    }
    boolean over = keeping.isOver(time.of(view(ownState)));
    for (Branch branch : branches) {
      branch.forget(over, keeping.childrenOverBefore());
    }
    if (!over) {
      return ownState;
    }
    delivery.leave();
    return forgetOwn();
  }

  /** Returns the row's state, empty where a message has another row that begins anew. */
  private Slice leaveFormer(Slice ownState, List<byte[]> messages) {
    if (messages.stream().noneMatch(each -> Message.kind(each) == Message.OWN_ANEW)) {
      return ownState;
    }
    delivery.beginAnew();
    return forgetOwn();
  }

  private Slice forgetOwn() {
    decision.read(null);
    return Slice.EMPTY;
  }

  /** Whether anything is kept that will be over, of which a note is there. */
  private boolean isTimed(Slice ownState) {
    return keeping.forgets()
        && (time.of(view(ownState)) != Marks.UNKNOWN
            || Arrays.stream(branches).anyMatch(each -> each.firstTime() != Marks.UNKNOWN));
  }

  private void noteOver(Slice ownState, State state) {
    if (!keeping.forgets()) {
      return;
    }
    long own = time.of(view(ownState));
    if (own != Marks.UNKNOWN) {
      keeping.noteRow(own, state);
      return;
    }
    Arrays.stream(branches)
        .mapToLong(Branch::firstTime)
        .filter(each -> each != Marks.UNKNOWN)
        .min()
        .ifPresent(each -> keeping.noteChild(each, state));
  }

  /** True where nothing has to be remembered at all. */
  private boolean isBlank(Slice ownState, State state) {
    return ownState.isEmpty()
        && delivery.isIdle()
        && delivery.highest() <= state.highestForgotten()
        && Arrays.stream(branches).allMatch(Branch::isBlank);
  }

  /** True where the row went, and nothing is kept for its return but how it went. */
  private boolean isForgettable(Slice ownState) {
    boolean here =
        program.raw() ? RowCell.read(ownState).exists : ownState.length() > Long.BYTES;
    return !here
        && delivery.isIdle()
        && Arrays.stream(branches).noneMatch(Branch::keepsChildren);
  }

  /** When the retention of a row that went ends; its epoch is the time at which it went. */
  private long overAt(Slice ownState) {
    if (ownState.isEmpty()) {
      return 0;
    }
    long goneAt =
        program.raw()
            ? RowCell.read(ownState).deletedAt
            : new ByteReader(ownState).readLong();
    return goneAt + rows.retentionMicros();
  }

  private int failuresBefore(byte[] stored) {
    if (twin == null) {
      twin = new Fold(node, program, context);
    }
    Slice own = twin.view(twin.read(stored, null));
    if (twin.hasPages()) {
      return twin.failuresKnown;
    }
    if (own == null || !twin.decision.isMade(own)) {
      return 0;
    }
    twin.assemble(own);
    return twin.failures;
  }

  private void forgetBranches(List<byte[]> messages) {
    for (byte[] message : messages) {
      if (Message.kind(message) == Message.OWN_REMOVE) {
        long epoch = Message.body(message).readLong();
        for (Branch branch : branches) {
          branch.ownRowWent(epoch);
        }
      }
    }
  }

  private void applyBranches(List<byte[]> messages) {
    List<List<BranchMessage.Section>> sections = lists();
    List<List<ChildMessage>> children = lists();
    List<List<FannedMessage.Reader>> led = lists();
    for (byte[] message : messages) {
      switch (Message.kind(message)) {
        case Message.BRANCH -> {
          BranchMessage.Sections each = new BranchMessage.Sections(message);
          while (each.hasNext()) {
            BranchMessage.Section section = each.next();
            sections.get(section.branch()).add(section);
          }
        }
        case Message.CHILD_PUT, Message.CHILD_REMOVE -> {
          ChildMessage child = ChildMessage.read(message);
          children.get(child.branch()).add(child);
        }
        case Message.FANNED -> {
          FannedMessage.Reader told = new FannedMessage.Reader(message);
          led.get(told.branch()).add(told);
        }
        case Message.RAW,
            Message.OWN_PUT,
            Message.OWN_ANEW,
            Message.OWN_REMOVE,
            Message.PENDING,
            Message.CLOSED -> {}
        default -> throw Message.unexpected(message);
      }
    }
    for (int i = 0; i < branches.length; i++) {
      if (!sections.get(i).isEmpty()) {
        branches[i].applyAnswers(sections.get(i));
      }
      if (!children.get(i).isEmpty()) {
        branches[i].applyChildren(children.get(i));
      }
      if (!led.get(i).isEmpty()) {
        branches[i].applyLed(led.get(i));
      }
    }
  }

  private <T> List<List<T>> lists() {
    List<List<T>> lists = new ArrayList<>(branches.length);
    for (int i = 0; i < branches.length; i++) {
      lists.add(new ArrayList<>(0));
    }
    return lists;
  }

  private boolean hasPages() {
    for (Branch branch : branches) {
      if (branch.isPaged()) {
        return true;
      }
    }
    return false;
  }

  private Slice read(byte[] stored, State state) {
    ByteReader in = stored == null ? null : new ByteReader(stored);
    Slice ownState = in == null ? Slice.EMPTY : in.readBlob();
    delivery.read(in);
    for (Branch branch : branches) {
      branch.read(in, state);
    }
    decision.read(in);
    failuresKnown = hasPages() ? in.readVarInt() : 0;
    return ownState;
  }

  private byte[] write(Slice ownState) {
    ByteWriter out = new ByteWriter(1024);
    out.writeBlob(ownState);
    delivery.write(out);
    for (Branch branch : branches) {
      branch.write(out);
    }
    decision.write(out);
    if (hasPages()) {
      out.writeVarInt(failures);
    }
    return out.toBytes();
  }

  private Slice view(Slice ownState) {
    if (ownState.isEmpty()) {
      return null;
    }
    if (program.raw()) {
      return rows.view(RowCell.read(ownState));
    }
    ByteReader in = new ByteReader(ownState);
    in.readLong();
    return in.hasMore() ? in.rest() : null;
  }

  private Slice applyOwn(
      Slice ownState, List<byte[]> messages, long timestamp, Outbox outbox) {
    List<RawChange> changes = new ArrayList<>(0);
    for (byte[] message : messages) {
      switch (Message.kind(message)) {
        case Message.RAW -> changes.add(RawChange.read(message));
        case Message.OWN_PUT, Message.OWN_ANEW, Message.OWN_REMOVE -> ownState = Message.body(message).rest();
        case Message.BRANCH,
            Message.CHILD_PUT,
            Message.CHILD_REMOVE,
            Message.FANNED,
            Message.PENDING,
            Message.CLOSED -> {}
        default -> throw Message.unexpected(message);
      }
    }
    if (changes.isEmpty()) {
      return ownState;
    }
    RowCell cell = RowCell.read(ownState);
    return rows.apply(cell, changes, timestamp, outbox) ? Slice.of(cell.toBytes()) : ownState;
  }

  /** Counts the embeds that begin to show one of several rows. */
  private void countChoices() {
    for (Branch branch : branches) {
      if (branch.beginsToChoose()) {
        context.counters().product(product, "multiple_matches", 1);
      }
    }
  }

  private Assembled nothing() {
    for (Branch branch : branches) {
      branch.look(null);
    }
    return null;
  }

  private Assembled assemble(Slice row) {
    int inputs = 0;
    int failedBelow = 0;
    for (Branch branch : branches) {
      branch.look(row);
      failedBelow += branch.failures();
      inputs += branch.inputs();
    }
    int flags = 0;
    String overflowed = null;
    for (Branch branch : branches) {
      flags |= branch.flags();
      if (branch.overflows()) {
        flags |= Message.FLAG_FAILED;
        overflowed = branch.name();
      }
    }
    if (hasPages() && delivery.isLimitBelow(leastBytes())) {
      failures = failuresKnown;
      return new Assembled(null, Slice.EMPTY, flags, overflowed);
    }
    Object[] values = new Object[inputs];
    int at = 0;
    for (Branch branch : branches) {
      at = branch.fill(values, at);
    }
    boolean exists = assembler.assemble(row, BinaryRow.point(own, row), values);
    failures = assembler.failures() + failedBelow;
    return exists ? new Assembled(assembler.row(), assembler.order(), flags, overflowed) : null;
  }

  /** How many bytes of text there are at least of children that are shown as they are. */
  private long leastBytes() {
    long bytes = 0;
    int input = 0;
    for (Branch branch : branches) {
      long least = branch.leastBytes();
      bytes += least > 0 && assembler.showsAlways(input) ? least : 0;
      input += branch.inputs();
    }
    return bytes;
  }
}
