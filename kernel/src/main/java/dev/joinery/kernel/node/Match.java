package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.BranchMessage;
import dev.joinery.kernel.message.ChildMessage;
import dev.joinery.kernel.message.Message;
import dev.joinery.kernel.message.Outbox;
import dev.joinery.kernel.message.ParentMessage;
import dev.joinery.kernel.program.Program;
import dev.joinery.kernel.state.EntryMap;
import dev.joinery.kernel.state.State;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.function.Function;

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
  private static final int MANY_PARENTS = 256;

  private final Program.MatchProgram program;
  private final Arm[] arms;

  public Match(int node, Program.MatchProgram program, NodeContext context) {
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
    EntryMap parents = EntryMap.read(in, state, PARENTS);
    Slice[] stored = new Slice[arms.length];
    for (int i = 0; i < arms.length; i++) {
      stored[i] = in == null ? Slice.EMPTY : in.readBlob();
    }
    Map<Slice, ParentMessage> announced = new LinkedHashMap<>();
    List<List<ChildMessage>> children = sort(messages, announced);
    List<Slice> fresh = applyParents(announced, parents);
    boolean[] open = new boolean[arms.length];
    for (int i = 0; i < arms.length; i++) {
      open[i] = !fresh.isEmpty() || !children.get(i).isEmpty();
      if (open[i]) {
        arms[i].open(stored[i], state);
      }
      if (!children.get(i).isEmpty()) {
        arms[i].apply(children.get(i));
        stored[i] = arms[i].write();
      }
    }
    write(state, parents, stored);
    sendAll(fresh, announced, timestamp, outbox);
    if (parents.size() > fresh.size()) {
      broadcast(changes(open), parents, announced, timestamp, outbox);
    }
  }

  /** Gives the messages about children by arm, and puts those about parents aside. */
  private List<List<ChildMessage>> sort(
      List<byte[]> messages, Map<Slice, ParentMessage> announced) {
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
        case Message.PARENT_PUT, Message.PARENT_REMOVE -> {
          ParentMessage parent = ParentMessage.read(message);
          announced.put(parent.key(), parent);
        }
        default -> throw Message.unexpected(message);
      }
    }
    return children;
  }

  /** Applies announcements; returns the parents that must hear everything. */
  private static List<Slice> applyParents(Map<Slice, ParentMessage> announced, EntryMap parents) {
    List<Slice> fresh = new ArrayList<>();
    for (Slice key : parents.inPageOrder(announced.keySet(), Function.identity())) {
      ParentMessage message = announced.get(key);
      if (message.remove()) {
        parents.remove(key);
      } else {
        parents.put(key, Slice.of(new ByteWriter(8).writeLong(message.epoch()).toBytes()));
        fresh.add(key);
      }
    }
    return fresh;
  }

  private static void write(State state, EntryMap parents, Slice[] stored) {
    ByteWriter out = new ByteWriter(1024);
    parents.write(out);
    if (parents.size() == 0 && Arrays.stream(stored).allMatch(Slice::isEmpty)) {
      state.clear();
      return;
    }
    for (Slice arm : stored) {
      out.writeBlob(arm);
    }
    state.write(out.toBytes());
  }

  private void sendAll(
      List<Slice> fresh, Map<Slice, ParentMessage> announced, long timestamp, Outbox outbox) {
    if (fresh.isEmpty()) {
      return;
    }
    List<Arm.Contents> contents = Arrays.stream(arms).map(Arm::contents).toList();
    boolean lazily =
        fresh.size() > MANY_PARENTS || Arrays.stream(arms).anyMatch(Arm::isPaged);
    for (Slice parent : fresh) {
      long epoch = announced.get(parent).epoch();
      Iterator<Runnable> messages = new Filling(contents, parent, epoch, timestamp, outbox);
      if (lazily) {
        outbox.later(messages);
      } else {
        messages.forEachRemaining(Runnable::run);
      }
    }
  }

  /** Sends a parent all children, a message a step. */
  private final class Filling implements Iterator<Runnable> {
    private final Iterator<Arm.Contents> contents;
    private final Slice parent;
    private final long epoch;
    private final long timestamp;
    private final Outbox outbox;
    private Arm.Contents arm;
    private Iterator<TopRows.Item> items;

    Filling(
        List<Arm.Contents> contents, Slice parent, long epoch, long timestamp, Outbox outbox) {
      this.contents = contents.iterator();
      this.parent = parent;
      this.epoch = epoch;
      this.timestamp = timestamp;
      this.outbox = outbox;
    }

    @Override
    public boolean hasNext() {
      return arm != null || contents.hasNext();
    }

    @Override
    public Runnable next() {
      if (!hasNext()) {
        throw new NoSuchElementException();
      }
      return () -> {
        BranchMessage message = new BranchMessage();
        while (hasNext() && !message.isFull()) {
          addTo(message);
        }
        outbox.send(program.fold(), parent.toBytes(), message.toBytes(timestamp, epoch));
      };
    }

    private void addTo(BranchMessage message) {
      if (arm == null) {
        arm = contents.next();
        items = arm.items().iterator();
      }
      message.begin(arm.branch(), arm.total(), arm.aggregates());
      while (items.hasNext() && !message.isFull()) {
        TopRows.Item item = items.next();
        message.put(item.key(), item.child().encoded());
      }
      message.end();
      if (!items.hasNext()) {
        arm = null;
      }
    }
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

  /** Tells all parents that were here before, one at a time; few and small messages at once. */
  private void broadcast(
      List<BranchMessage> changes,
      EntryMap parents,
      Map<Slice, ParentMessage> announced,
      long timestamp,
      Outbox outbox) {
    if (changes.isEmpty()) {
      return;
    }
    Iterator<EntryMap.Entry> all = parents.iterator();
    Iterator<Runnable> messages =
        new Iterator<>() {
          @Override
          public boolean hasNext() {
            return all.hasNext();
          }

          @Override
          public Runnable next() {
            EntryMap.Entry parent = all.next();
            return () -> {
              if (!announced.containsKey(parent.key())) {
                long epoch = new ByteReader(parent.value()).readLong();
                for (BranchMessage change : changes) {
                  byte[] message = change.toBytes(timestamp, epoch);
                  outbox.send(program.fold(), parent.key().toBytes(), message);
                }
              }
            };
          }
        };
    if (parents.size() * changes.get(0).size() <= BranchMessage.MAX_BYTES / 4) {
      messages.forEachRemaining(Runnable::run);
    } else {
      outbox.later(messages);
    }
  }
}
