package dev.joinery.kernel;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;

/**
 * Remembers, under one join value, the parents that point at it and the children that carry it;
 * sends each parent's Fold what changed among the children it keeps, and a new parent all of them.
 *
 * <p>Order, limit, totals and aggregates depend on the children alone, so they are worked out once
 * a join value, not once a parent.
 */
final class Match implements Node {
  private static final int CHILDREN = 0;
  private static final int PARENTS = 1;
  private static final int MANY_PARENTS = 256;

  private final Program.MatchProgram program;
  private final Workshop workshop;
  private final Aggregates aggregates;
  private final UnsafeRow childRow;
  private final String product;

  Match(int node, Program.MatchProgram program, Workshop workshop) {
    this.program = program;
    this.workshop = workshop;
    this.aggregates = workshop.aggregates(node);
    this.childRow = new UnsafeRow(program.childType().length());
    this.product = program.name().split("/", 2)[0];
  }

  /** A child before and after a batch; null where it was or is not here. */
  private record Delta(Slice key, Child before, Child after) {}

  @Override
  public void handle(Slice key, List<byte[]> messages, State state, Outbox outbox) {
    long timestamp = Message.timestamp(messages.get(0));
    byte[] stored = state.read();
    ByteReader in = stored == null ? null : new ByteReader(stored);
    EntryMap children = EntryMap.read(in, state, CHILDREN);
    EntryMap parents = EntryMap.read(in, state, PARENTS);
    Window window = new Window(program.one() ? 1 : program.limit());
    aggregates.clear();
    boolean kept = in != null && in.hasMore();
    if (kept) {
      aggregates.read(in);
      window.read(in);
    } else {
      aggregates.addAll(children.iterator(), childRow.numFields());
      window.fill(children.iterator());
    }
    Slice aggregatesBefore = aggregates.isEmpty() ? Slice.EMPTY : aggregates.result();
    long totalBefore = children.size();
    List<Window.Item> windowBefore = window.kept();

    Map<Slice, byte[]> parentMessages = new LinkedHashMap<>();
    Collection<Delta> deltas = applyChildren(messages, children, parentMessages);
    follow(deltas, children, window);

    Slice aggregated = aggregates.isEmpty() ? Slice.EMPTY : aggregates.result();
    if (program.one() && totalBefore < 2 && children.size() > 1) {
      workshop.counters().product(product, "multiple_matches", 1);
    }
    if (aggregates.failures() > 0 && !deltas.isEmpty()) {
      workshop.counters().product(product, "expression_errors", aggregates.failures());
    }
    Answer answer =
        new Answer(timestamp, children.size(), aggregated, changes(deltas, windowBefore, window));
    boolean changed =
        !answer.changes.isEmpty()
            || program.total() && totalBefore != children.size()
            || !aggregated.equals(aggregatesBefore);

    List<Slice> fresh = applyParents(parentMessages, parents);
    write(state, children, parents, window);
    sendAll(answer, fresh, parentMessages, children, window, outbox);
    if (changed && parents.size() > fresh.size()) {
      outbox.later(broadcast(answer, parents, parentMessages, outbox));
    }
  }

  /** Applies the newest message about each child, and puts those about parents aside. */
  private Collection<Delta> applyChildren(
      List<byte[]> messages, EntryMap children, Map<Slice, byte[]> parentMessages) {
    Map<Slice, ChildMessage> newest = new LinkedHashMap<>();
    for (byte[] message : messages) {
      int kind = Message.kind(message);
      if (kind == Message.CHILD_PUT || kind == Message.CHILD_REMOVE) {
        ChildMessage child = ChildMessage.read(message);
        newest.merge(child.key(), child, ChildMessage::newer);
      } else {
        ByteReader in = Message.body(message);
        in.readVarLong();
        parentMessages.put(in.readBlob(), message);
      }
    }
    List<Delta> deltas = new ArrayList<>(newest.size());
    for (ChildMessage message : children.inPageOrder(newest.values(), ChildMessage::key)) {
      Delta delta = applyChild(message, children);
      if (delta != null) {
        deltas.add(delta);
      }
    }
    return deltas;
  }

  private static Delta applyChild(ChildMessage message, EntryMap children) {
    Slice stored = children.get(message.key());
    Child before = stored == null ? null : Child.read(stored);
    if (before != null && message.epoch() < before.epoch()) {
      return null;
    }
    if (message.remove()) {
      if (before != null) {
        children.remove(message.key());
      }
      return before == null ? null : new Delta(message.key(), before, null);
    }
    Child after = message.child();
    children.put(message.key(), after.toSlice());
    return before != null && before.sameContent(after)
        ? null
        : new Delta(message.key(), before, after);
  }

  private void follow(Collection<Delta> deltas, EntryMap children, Window window) {
    boolean again = false;
    for (Delta delta : deltas) {
      if (!aggregates.isEmpty()) {
        if (delta.before() != null) {
          again |= aggregates.remove(Row.point(childRow, delta.before().row()));
        }
        if (delta.after() != null) {
          aggregates.add(Row.point(childRow, delta.after().row()));
        }
      }
      window.follow(delta.key(), delta.before(), delta.after());
    }
    if (again) {
      aggregates.addAll(children.iterator(), childRow.numFields());
    }
    if (window.isShort(children.size())) {
      window.fill(children.iterator());
    }
  }

  /** What a Fold that knew the children before must hear. */
  private List<Delta> changes(Collection<Delta> deltas, List<Window.Item> before, Window window) {
    if (!program.entries()) {
      return List.of();
    }
    if (!window.isLimited()) {
      return List.copyOf(deltas);
    }
    Map<Slice, Child> gone = new HashMap<>();
    before.forEach(item -> gone.put(item.key(), item.child()));
    List<Delta> changes = new ArrayList<>();
    for (Window.Item item : window.kept()) {
      Child known = gone.remove(item.key());
      if (known == null || !known.sameContent(item.child())) {
        changes.add(new Delta(item.key(), known, item.child()));
      }
    }
    gone.forEach((key, child) -> changes.add(new Delta(key, child, null)));
    return changes;
  }

  /** Applies announcements; returns the parents that must hear everything. */
  private static List<Slice> applyParents(Map<Slice, byte[]> messages, EntryMap parents) {
    List<Slice> fresh = new ArrayList<>();
    for (Slice key : parents.inPageOrder(messages.keySet(), Function.identity())) {
      byte[] message = messages.get(key);
      if (Message.kind(message) == Message.PARENT_REMOVE) {
        parents.remove(key);
      } else {
        long epoch = Message.body(message).readVarLong();
        parents.put(key, Slice.of(new ByteWriter(10).writeVarLong(epoch).toBytes()));
        fresh.add(key);
      }
    }
    return fresh;
  }

  private void write(State state, EntryMap children, EntryMap parents, Window window) {
    ByteWriter out = new ByteWriter(1024);
    children.write(out);
    parents.write(out);
    if (children.size() == 0 && parents.size() == 0) {
      state.clear();
      return;
    }
    if (children.isPaged()) {
      aggregates.write(out);
      window.write(out);
      out.writeByte(0);
    }
    state.write(out.toBytes());
  }

  private void sendAll(
      Answer answer,
      List<Slice> fresh,
      Map<Slice, byte[]> parentMessages,
      EntryMap children,
      Window window,
      Outbox outbox) {
    boolean lazily = children.isPaged() || fresh.size() > MANY_PARENTS;
    for (Slice parent : fresh) {
      long epoch = Message.body(parentMessages.get(parent)).readVarLong();
      Iterator<Window.Item> items = everything(children, window);
      Iterator<Runnable> messages = fill(answer, parent, epoch, items, outbox);
      if (lazily) {
        outbox.later(messages);
      } else {
        messages.forEachRemaining(Runnable::run);
      }
    }
  }

  /** Sends a parent all children, a message a step. */
  private Iterator<Runnable> fill(
      Answer answer, Slice parent, long epoch, Iterator<Window.Item> items, Outbox outbox) {
    return new Iterator<>() {
      private boolean started;

      @Override
      public boolean hasNext() {
        return !started || items.hasNext();
      }

      @Override
      public Runnable next() {
        started = true;
        return () -> {
          BranchMessage message = answer.start(program.branch(), epoch);
          while (items.hasNext() && !message.isFull()) {
            Window.Item item = items.next();
            message.put(item.key(), item.child().toSlice());
          }
          outbox.send(program.fold(), parent.toBytes(), message.toBytes());
        };
      }
    };
  }

  private Iterator<Window.Item> everything(EntryMap children, Window window) {
    if (!program.entries()) {
      return List.<Window.Item>of().iterator();
    }
    return window.isLimited() ? window.kept().iterator() : Window.items(children.iterator());
  }

  /** Tells all parents that were here before, one at a time. */
  private Iterator<Runnable> broadcast(
      Answer answer, EntryMap parents, Map<Slice, byte[]> told, Outbox outbox) {
    Iterator<EntryMap.Entry> all = parents.iterator();
    return new Iterator<>() {
      @Override
      public boolean hasNext() {
        return all.hasNext();
      }

      @Override
      public Runnable next() {
        EntryMap.Entry parent = all.next();
        return () -> {
          if (!told.containsKey(parent.key())) {
            long epoch = new ByteReader(parent.value()).readVarLong();
            sendChanges(answer, parent.key(), epoch, outbox);
          }
        };
      }
    };
  }

  private void sendChanges(Answer answer, Slice parent, long epoch, Outbox outbox) {
    BranchMessage message = answer.start(program.branch(), epoch);
    for (Delta delta : answer.changes) {
      if (delta.after() == null) {
        message.remove(delta.key());
      } else {
        message.put(delta.key(), delta.after().toSlice());
      }
      if (message.isFull()) {
        outbox.send(program.fold(), parent.toBytes(), message.toBytes());
        message = answer.start(program.branch(), epoch);
      }
    }
    outbox.send(program.fold(), parent.toBytes(), message.toBytes());
  }

  /** What is the same for every parent. */
  private record Answer(long timestamp, long total, Slice aggregates, List<Delta> changes) {
    BranchMessage start(int branch, long epoch) {
      return new BranchMessage(timestamp, branch, epoch, total, aggregates);
    }
  }
}
