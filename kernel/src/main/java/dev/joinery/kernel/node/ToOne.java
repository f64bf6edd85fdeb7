package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.BinaryRow;
import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.BranchMessage;
import dev.joinery.kernel.message.Child;
import dev.joinery.kernel.message.ChildMessage;
import dev.joinery.kernel.message.Message;
import dev.joinery.kernel.message.Outbox;
import dev.joinery.kernel.message.ParentMessage;
import dev.joinery.kernel.message.RawChange;
import dev.joinery.kernel.program.DocumentProgram;
import dev.joinery.kernel.program.Program;
import dev.joinery.kernel.state.EntryMap;
import dev.joinery.kernel.state.Mapped;
import dev.joinery.kernel.state.State;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;

/**
 * Remembers, under a child's key, the child's row and the parents that point at it; sends the
 * child's row to each parent's Fold, or, where it is the parents' only embed, the parents' finished
 * rows on to what embeds them.
 */
public final class ToOne implements Node {
  private static final Slice NOTHING = Slice.EMPTY;
  /** What is forgotten is the child, not a parent: no parent's key is empty. */
  private static final Slice CHILD = Slice.EMPTY;

  private final DocumentProgram.ToOneProgram program;
  private final NodeContext context;
  private final RelationRows childRows;
  private final Assembler childAssembler;
  private final RelationRows parentRows;
  private final Merger merger;
  private final String product;
  /** How many expressions failed over the child that was looked at last. */
  private int childFailures;

  public ToOne(DocumentProgram.ToOneProgram program, NodeContext context) {
    this.program = program;
    this.context = context;
    this.childRows = program.childRelation() < 0 ? null : context.rows(program.childRelation());
    this.childAssembler = childRows == null ? null : context.assembler(program.childAssembler());
    this.parentRows = program.parentRelation() < 0 ? null : context.rows(program.parentRelation());
    this.merger = program.merge() == null ? null : new Merger(program, context);
    this.product = program.name().split("/", 2)[0];
  }

  /**
   * A parent before and after a batch; an own row is null where it was or is not here.
   *
   * @param moved whether it stood at another address before, or stands at another now
   */
  private record ParentDelta(
      long epochBefore, Slice before, long epochAfter, Slice after, boolean moved) {
    static ParentDelta staying(long epochBefore, Slice before, long epochAfter, Slice after) {
      return new ParentDelta(epochBefore, before, epochAfter, after, false);
    }
  }

  @Override
  public void handle(Slice key, List<byte[]> messages, State state, Outbox outbox) {
    long timestamp = Message.timestamp(messages.get(0));
    byte[] stored = state.read();
    ByteReader in = stored == null ? null : new ByteReader(stored);
    Slice childState = in == null ? NOTHING : in.readBlob();
    EntryMap parents = EntryMap.read(in, state, 0);

    List<byte[]> childMessages = new ArrayList<>();
    Map<Slice, List<RawChange>> rawParents = new LinkedHashMap<>();
    Map<Slice, ParentMessage> announcements = new LinkedHashMap<>();
    sort(messages, childMessages, rawParents, announcements);

    Child childBefore = view(childState);
    int failuresBefore = childFailures;
    Slice childStateAfter = applyChild(childState, childMessages, timestamp, state, outbox);
    Child childAfter = childStateAfter == childState ? childBefore : view(childStateAfter);
    context.counters().productFailures(product, failuresBefore, childFailures);
    Map<Slice, ParentDelta> deltas = new HashMap<>();
    applyRawParents(rawParents, parents, timestamp, deltas, state, outbox);
    applyAnnouncements(announcements, parents, deltas);
    write(state, childStateAfter, parents);

    deltas.forEach((parent, delta) -> tell(parent, delta, childBefore, childAfter, timestamp, outbox));
    if (!same(childBefore, childAfter) && parents.size() > 0) {
      outbox.later(broadcast(parents, deltas, childBefore, childAfter, timestamp, outbox));
    }
  }

  @Override
  public void trace(Slice key, Slice parent, State state, Tracing tracing) {
    byte[] stored = state.read();
    if (stored == null) {
      return;
    }
    ByteReader in = new ByteReader(stored);
    Slice child = in.readBlob();
    if (childRows == null && !child.isEmpty()) {
      tracing.below(0, Slice.EMPTY);
    } else if (childRows != null) {
      trace(program.childRelation(), child, tracing);
    }
    if (parent != null && parentRows != null) {
      trace(program.parentRelation(), EntryMap.read(in, state, 0).get(parent), tracing);
    }
  }

  private static void trace(int relation, Slice stored, Tracing tracing) {
    RowCell cell = RowCell.read(stored);
    if (cell.exists) {
      tracing.cell(relation, cell);
    }
  }

  @Override
  public void expire(Slice key, List<Slice> entries, long timestamp, State state) {
    byte[] stored = state.read();
    if (stored == null) {
      return;
    }
    ByteReader in = new ByteReader(stored);
    Slice child = in.readBlob();
    EntryMap parents = EntryMap.read(in, state, 0);
    for (Slice entry : parents.inPageOrder(entries, Function.identity())) {
      if (!entry.equals(CHILD)) {
        expireParent(entry, parents, timestamp, state);
      } else if (isOver(child, childRows, timestamp, CHILD, state)) {
        child = NOTHING;
      }
    }
    write(state, child, parents);
  }

  private void expireParent(Slice key, EntryMap parents, long timestamp, State state) {
    Slice parent = parents.get(key);
    if (parent != null && isOver(parent, parentRows, timestamp, key, state)) {
      parents.remove(key);
    }
  }

  private static boolean isOver(
      Slice stored, RelationRows rows, long timestamp, Slice entry, State state) {
    return !stored.isEmpty() && rows.isOver(RowCell.read(stored), timestamp, entry, state);
  }

  private void sort(
      List<byte[]> messages,
      List<byte[]> childMessages,
      Map<Slice, List<RawChange>> rawParents,
      Map<Slice, ParentMessage> announcements) {
    for (byte[] message : messages) {
      switch (Message.kind(message)) {
        case Message.RAW -> {
          RawChange change = RawChange.read(message);
          if (change.isParent()) {
            Slice parent = Slice.of(parentRows.keyOf(change));
            rawParents.computeIfAbsent(parent, each -> new ArrayList<>(2)).add(change);
          } else {
            childMessages.add(message);
          }
        }
        case Message.PARENT_PUT,
            Message.PARENT_REMOVE,
            Message.PARENT_CAME,
            Message.PARENT_LEFT -> {
          ParentMessage parent = ParentMessage.read(message);
          announcements.put(parent.key(), parent);
        }
        case Message.CHILD_PUT, Message.CHILD_REMOVE -> childMessages.add(message);
        default -> throw Message.unexpected(message);
      }
    }
  }

  private Slice applyChild(
      Slice stored, List<byte[]> messages, long timestamp, State state, Outbox outbox) {
    if (messages.isEmpty()) {
      return stored;
    }
    if (childRows != null) {
      return applyRawChild(stored, messages, timestamp, state, outbox);
    }
    ChildMessage newest = null;
    for (byte[] message : messages) {
      ChildMessage next = ChildMessage.read(message);
      newest = newest == null ? next : newest.newer(next);
    }
    if (!stored.isEmpty() && newest.epoch() < Child.read(stored).epoch()) {
      return stored;
    }
    return newest.remove() ? NOTHING : newest.child().encoded();
  }

  private Slice applyRawChild(
      Slice stored, List<byte[]> messages, long timestamp, State state, Outbox outbox) {
    RowCell cell = RowCell.read(stored);
    List<RawChange> changes = new ArrayList<>(messages.size());
    messages.forEach(message -> changes.add(RawChange.read(message)));
    if (!childRows.apply(cell, changes, timestamp, outbox)) {
      return stored;
    }
    if (!cell.exists) {
      childRows.expireLater(cell, CHILD, state);
    }
    return Slice.of(cell.toBytes());
  }

  /** The child as parents see it, or null. */
  private Child view(Slice stored) {
    childFailures = 0;
    if (stored.isEmpty()) {
      return null;
    }
    if (childRows == null) {
      return Child.read(stored);
    }
    Slice row = childRows.view(RowCell.read(stored));
    if (row == null) {
      return null;
    }
    boolean exists =
        childAssembler.assemble(
            row, BinaryRow.of(row, childRows.visibleColumns()), Assembler.NO_INPUTS);
    childFailures = childAssembler.failures();
    if (!exists) {
      return null;
    }
    return Child.of(0, 0, Slice.EMPTY, childAssembler.row());
  }

  private void applyRawParents(
      Map<Slice, List<RawChange>> changes,
      EntryMap parents,
      long timestamp,
      Map<Slice, ParentDelta> deltas,
      State state,
      Outbox outbox) {
    for (Slice key : parents.inPageOrder(changes.keySet(), Function.identity())) {
      RowCell cell = RowCell.read(parents.get(key));
      Slice before = parentRows.view(cell);
      if (parentRows.apply(cell, changes.get(key), timestamp, outbox)) {
        parents.put(key, Slice.of(cell.toBytes()));
        if (!cell.exists) {
          parentRows.expireLater(cell, key, state);
        }
        Slice after = parentRows.view(cell);
        if (before == null ? after != null : !before.equals(after)) {
          deltas.put(key, ParentDelta.staying(0, before, 0, after));
        }
      }
    }
  }

  private void applyAnnouncements(
      Map<Slice, ParentMessage> messages, EntryMap parents, Map<Slice, ParentDelta> deltas) {
    for (Slice key : parents.inPageOrder(messages.keySet(), Function.identity())) {
      Slice stored = parents.get(key);
      ByteReader old = stored == null ? null : new ByteReader(stored);
      long epochBefore = old == null ? 0 : old.readLong();
      Slice before = old == null ? null : old.rest();
      ParentMessage message = messages.get(key).notBefore(epochBefore);
      long epoch = message.epoch();
      if (message.remove()) {
        parents.remove(key);
        deltas.put(key, new ParentDelta(epochBefore, before, epoch, null, message.moved()));
        continue;
      }
      Slice row = message.row();
      ByteWriter entry = new ByteWriter(row.length() + 10).writeLong(epoch).writeRaw(row);
      parents.put(key, Slice.of(entry.toBytes()));
      deltas.put(key, new ParentDelta(epochBefore, before, epoch, row, message.moved()));
    }
  }

  private void write(State state, Slice child, EntryMap parents) {
    ByteWriter out = new ByteWriter(512);
    out.writeBlob(child);
    parents.write(out);
    state.writeOrClear(out, child.isEmpty() && parents.size() == 0);
  }

  private void tell(
      Slice parent,
      ParentDelta delta,
      Child childBefore,
      Child childAfter,
      long timestamp,
      Outbox outbox) {
    if (merger != null) {
      merger.send(parent, delta, childBefore, childAfter, timestamp, outbox);
    } else if (delta.after() != null) {
      sendChild(parent, delta.epochAfter(), childAfter, timestamp, outbox);
    }
  }

  private Iterator<Runnable> broadcast(
      EntryMap parents,
      Map<Slice, ParentDelta> told,
      Child childBefore,
      Child childAfter,
      long timestamp,
      Outbox outbox) {
    return new Mapped<>(
        parents.iterator(),
        parent ->
            () -> {
              if (!told.containsKey(parent.key())) {
                ParentDelta same = unchanged(parent.value());
                if (same.after() != null) {
                  tell(parent.key(), same, childBefore, childAfter, timestamp, outbox);
                }
              }
            });
  }

  private ParentDelta unchanged(Slice stored) {
    if (parentRows != null) {
      Slice row = parentRows.view(RowCell.read(stored));
      return ParentDelta.staying(0, row, 0, row);
    }
    ByteReader in = new ByteReader(stored);
    long epoch = in.readLong();
    Slice row = in.rest();
    return ParentDelta.staying(epoch, row, epoch, row);
  }

  /** A parent's Fold holds one child, so what it holds goes before the new one comes. */
  private void sendChild(Slice parent, long epoch, Child child, long timestamp, Outbox outbox) {
    BranchMessage message = new BranchMessage();
    message.begin(program.branch(), child == null ? 0 : 1, Slice.EMPTY);
    if (child == null) {
      message.remove(Slice.EMPTY);
    } else {
      message.put(Slice.EMPTY, child.encoded());
    }
    message.end();
    outbox.send(program.fold(), parent.toBytes(), message.toBytes(timestamp, epoch));
  }

  private static boolean same(Child one, Child other) {
    return one == null ? other == null : other != null && one.sameContent(other);
  }

  /** Assembles parents in place. */
  private static final class Merger {
    private final Assembler assembler;
    private final Upward upward;
    private final UnsafeRow own;
    private final int childColumns;
    private final NodeContext context;
    private final String product;
    /** Gives the row of a root's key, which travels as its order; null deeper in a tree. */
    private final UnsafeProjection rootKey;
    /** How many expressions failed over the parent that was placed last. */
    private int failures;

    Merger(DocumentProgram.ToOneProgram program, NodeContext context) {
      DocumentProgram.Merge merge = program.merge();
      List<Program.Slot> visible = context.visible(merge.relation());
      this.context = context;
      this.assembler = context.assembler(merge.assembler());
      this.upward = new Upward(merge.upward(), visible);
      this.own = new UnsafeRow(visible.size());
      this.childColumns = program.childType().length();
      this.product = context.productOf(merge.assembler());
      boolean root =
          context.program().nodes().get(merge.upward().target())
              instanceof DocumentProgram.RootProgram;
      this.rootKey = root ? context.keyProjection(merge.relation()) : null;
    }

    void send(
        Slice parent,
        ParentDelta delta,
        Child childBefore,
        Child childAfter,
        long timestamp,
        Outbox outbox) {
      Upward.Placed before = place(delta.before(), childBefore);
      int failuresBefore = failures;
      Upward.Placed after = place(delta.after(), childAfter);
      context.counters().productFailures(product, failuresBefore, failures);
      long epoch = delta.after() == null ? delta.epochBefore() : delta.epochAfter();
      if (rootKey == null || !delta.moved()) {
        upward.send(before, after, parent, epoch, timestamp, outbox);
      } else if (delta.after() != null) {
        sendCame(delta.after(), after, parent, epoch, timestamp, outbox);
      }
    }

    /**
     * Sends the root what a row has come to. The address that it left sends nothing: messages may
     * overtake one another, so the root could not tell a row that moved from one that went.
     */
    private void sendCame(
        Slice row, Upward.Placed after, Slice parent, long epoch, long timestamp, Outbox outbox) {
      if (after != null) {
        upward.send(null, after, parent, epoch, timestamp, outbox);
      } else {
        byte[] root = upward.addressOf(BinaryRow.point(own, row));
        upward.sendGone(root, parent, epoch, timestamp, outbox);
      }
    }

    private Upward.Placed place(Slice bytes, Child child) {
      failures = 0;
      if (bytes == null) {
        return null;
      }
      BinaryRow.point(own, bytes);
      byte[] address = upward.addressOf(own);
      if (address == null) {
        return null;
      }
      Object[] inputs = {child == null ? null : BinaryRow.of(child.row(), childColumns)};
      boolean exists = assembler.assemble(bytes, own, inputs);
      failures = assembler.failures();
      int flags = child == null ? 0 : child.flags();
      if (!exists) {
        return null;
      }
      Slice order = rootKey == null ? assembler.order() : BinaryRow.copy(rootKey.apply(own));
      return new Upward.Placed(address, flags, order, assembler.row());
    }
  }
}
