package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.BranchMessage;
import dev.joinery.kernel.message.ChildMessage;
import dev.joinery.kernel.message.Message;
import dev.joinery.kernel.message.Outbox;
import dev.joinery.kernel.program.DocumentProgram;
import dev.joinery.kernel.state.State;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Remembers, under one join value, the parents that point at it and, for each embed that hangs on
 * the same columns, the children that carry it; sends each parent's Fold what changed among the
 * children it keeps, and a new parent all of them.
 *
 * <p>Order, limit, totals and aggregates depend on the children alone, so they are worked out once
 * a join value, not once a parent. An embed without a message is not even read.
 */
public final class Match implements Node {
  private static final int PARENTS = 0;

  private final DocumentProgram.MatchProgram program;
  private final Arm[] arms;

  public Match(int node, DocumentProgram.MatchProgram program, NodeContext context) {
    this.program = program;
    this.arms = new Arm[program.arms().size()];
    for (int i = 0; i < arms.length; i++) {
      Aggregates aggregates = context.aggregates(node, i);
      arms[i] = new Arm(program.arms().get(i), PARENTS + 1 + i, aggregates, context);
    }
  }

  @Override
  public void handle(Slice key, List<byte[]> messages, State state, Outbox outbox) {
    long timestamp = Message.timestamp(messages.get(0));
    byte[] bytes = state.read();
    ByteReader in = bytes == null ? null : new ByteReader(bytes);
    Parents parents = Parents.read(in, state, PARENTS, program.fold());
    Slice[] stored = new Slice[arms.length];
    for (int i = 0; i < arms.length; i++) {
      stored[i] = in == null ? Slice.EMPTY : in.readBlob();
    }
    List<List<ChildMessage>> children = sort(messages, parents);
    parents.apply();
    boolean[] open = new boolean[arms.length];
    for (int i = 0; i < arms.length; i++) {
      open[i] = parents.hasNew() || !children.get(i).isEmpty();
      if (open[i]) {
        arms[i].open(stored[i], state);
      }
      if (!children.get(i).isEmpty()) {
        arms[i].apply(children.get(i));
        stored[i] = arms[i].write();
      }
    }
    write(state, parents, stored);
    if (parents.hasNew()) {
      boolean paged = Arrays.stream(arms).anyMatch(Arm::isPaged);
      parents.tellNew(Arrays.stream(arms).map(Arm::contents).toList(), paged, timestamp, outbox);
    }
    if (parents.hasOld()) {
      parents.tellOld(changes(open), timestamp, outbox);
    }
  }

  @Override
  public void trace(Slice key, Slice parent, State state, Tracing tracing) {
    byte[] stored = state.read();
    if (stored == null) {
      return;
    }
    ByteReader in = new ByteReader(stored);
    Parents.read(in, state, PARENTS, program.fold());
    for (int i = 0; i < arms.length; i++) {
      int arm = i;
      arms[i].forEachKey(in.readBlob(), state, child -> tracing.below(arm, child));
    }
  }

  /** Gives the messages about children by arm, and those about parents to these. */
  private List<List<ChildMessage>> sort(List<byte[]> messages, Parents parents) {
    List<List<ChildMessage>> children = new ArrayList<>(arms.length);
    for (int i = 0; i < arms.length; i++) {
      children.add(new ArrayList<>());
    }
    for (byte[] message : messages) {
      switch (Message.kind(message)) {
        case Message.CHILD_PUT, Message.CHILD_REMOVE -> {
          ChildMessage child = ChildMessage.read(message);
          children.get(child.branch()).add(child);
        }
        case Message.PARENT_PUT, Message.PARENT_REMOVE -> parents.announce(message);
        default -> throw Message.unexpected(message);
      }
    }
    return children;
  }

  private static void write(State state, Parents parents, Slice[] stored) {
    ByteWriter out = new ByteWriter(1024);
    parents.write(out);
    if (parents.isEmpty() && Arrays.stream(stored).allMatch(Slice::isEmpty)) {
      state.clear();
      return;
    }
    for (Slice arm : stored) {
      out.writeBlob(arm);
    }
    state.write(out.toBytes());
  }

  private List<BranchMessage> changes(boolean[] open) {
    List<BranchMessage> messages = new ArrayList<>(1);
    for (int i = 0; i < arms.length; i++) {
      if (open[i]) {
        arms[i].addChanges(messages);
      }
    }
    return messages;
  }
}
