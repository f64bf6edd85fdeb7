package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.BranchMessage;
import dev.joinery.kernel.message.Child;
import dev.joinery.kernel.message.ChildMessage;
import dev.joinery.kernel.message.Marks;
import dev.joinery.kernel.message.Message;
import dev.joinery.kernel.message.Outbox;
import dev.joinery.kernel.program.DocumentProgram;
import dev.joinery.kernel.state.State;
import dev.joinery.kernel.state.TimedMap;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;

/**
 * Remembers, under one join value, parents and children in the order of their times; sends each
 * parent's Fold what changed among the children that are near it, and a new parent all of these.
 *
 * <p>So a change costs what it meets, however many others have the join value. Order, limit, totals
 * and aggregates are another for each parent: its Fold works them out.
 */
public final class Interval implements Node {
  private static final int PARENTS = 0;
  private static final int CHILDREN = PARENTS + TimedMap.SPACES;

  private final DocumentProgram.IntervalProgram program;
  private final Keeping keeping;

  public Interval(DocumentProgram.IntervalProgram program, NodeContext context) {
    this.program = program;
    this.keeping = new Keeping(program.kept(), context);
  }

  /** A child before and after a batch; null where it was or is not here, or has no time. */
  private record Delta(Slice key, Child before, Child after) {}

  @Override
  public void handle(Slice key, List<byte[]> messages, State state, Outbox outbox) {
    long timestamp = Message.timestamp(messages.get(0));
    byte[] stored = state.read();
    ByteReader in = stored == null ? null : new ByteReader(stored);
    TimedParents parents =
        TimedParents.read(in, state, PARENTS, program.fold(), program.branch());
    TimedMap children = TimedMap.read(in, state, CHILDREN);
    forgetOver(parents, children);
    boolean held = parents.size() + children.size() > 0;
    List<Delta> deltas = applyChildren(sort(messages, parents), children);
    List<TimedParents.Fresh> fresh = parents.apply();
    write(state, parents, children);
    if (!held) {
      noteFirst(parents, children, state);
    }
    Iterator<Runnable> news =
        deltas.stream().<Runnable>map(each -> () -> tell(each, parents, timestamp, outbox))
            .iterator();
    TimedParents.run(deltas.size() * parents.size(), news, outbox);
    for (TimedParents.Fresh each : fresh) {
      Iterator<Runnable> all = new Filling(each, parents, children, timestamp, outbox);
      TimedParents.run(fresh.size() * (1 + children.size()), all, outbox);
    }
  }

  private void forgetOver(TimedParents parents, TimedMap children) {
    if (keeping.overBefore() != Marks.UNKNOWN) {
      parents.removeBefore(keeping.overBefore());
      children.removeBefore(keeping.childrenOverBefore());
    }
  }

  /** Has this called once the first of what is held is over. */
  private void noteFirst(TimedParents parents, TimedMap children, State state) {
    if (keeping.forgets() && parents.size() > 0) {
      keeping.noteRow(parents.firstTime(), state);
    } else if (keeping.forgets() && children.size() > 0) {
      keeping.noteChild(children.iterator().next().time(), state);
    }
  }

  @Override
  public void expire(Slice key, List<Slice> entries, long timestamp, State state) {
    byte[] stored = state.read();
    if (stored == null) {
      return;
    }
    ByteReader in = new ByteReader(stored);
    TimedParents parents =
        TimedParents.read(in, state, PARENTS, program.fold(), program.branch());
    TimedMap children = TimedMap.read(in, state, CHILDREN);
    forgetOver(parents, children);
    write(state, parents, children);
    noteFirst(parents, children, state);
  }

  /** Gives the messages about parents to these; returns the newest about each child. */
  static Map<Slice, ChildMessage> sort(List<byte[]> messages, TimedParents parents) {
    Map<Slice, ChildMessage> children = new LinkedHashMap<>();
    for (byte[] message : messages) {
      switch (Message.kind(message)) {
        case Message.CHILD_PUT, Message.CHILD_REMOVE -> {
          ChildMessage child = ChildMessage.read(message);
          children.merge(child.key(), child, ChildMessage::newer);
        }
        case Message.PARENT_PUT, Message.PARENT_REMOVE -> parents.announce(message);
        default -> throw Message.unexpected(message);
      }
    }
    return children;
  }

  private static void write(State state, TimedParents parents, TimedMap children) {
    ByteWriter out = new ByteWriter(512);
    parents.write(out);
    children.write(out);
    state.writeOrClear(out, parents.size() == 0 && children.size() == 0);
  }

  private static List<Delta> applyChildren(Map<Slice, ChildMessage> told, TimedMap children) {
    List<Delta> applied = new ArrayList<>(told.size());
    for (ChildMessage message : children.inPageOrder(told.values(), ChildMessage::key)) {
      Delta delta = apply(message, children);
      if (delta != null) {
        applied.add(delta);
      }
    }
    return applied;
  }

  /** Returns what changed, or null. */
  private static Delta apply(ChildMessage message, TimedMap children) {
    TimedMap.Timed stored = children.get(message.key());
    Child before = stored == null ? null : Child.read(stored.value());
    if (before != null && message.epoch() < before.epoch()) {
      return null;
    }
    long time = message.remove() ? Marks.UNKNOWN : timeOf(message.child());
    if (time == Marks.UNKNOWN) {
      children.remove(message.key());
      return before == null ? null : new Delta(message.key(), before, null);
    }
    Child after = message.child();
    children.put(message.key(), time, after.encoded());
    return before != null && before.sameContent(after)
        ? null
        : new Delta(message.key(), before, after);
  }

  private static long timeOf(Child child) {
    return RowTime.inFrontOf(child.order());
  }

  /** Tells the parents near a child that changed, as it is or as it was. */
  private void tell(Delta delta, TimedParents parents, long timestamp, Outbox outbox) {
    if (delta.after() != null) {
      TimedParents.News news =
          (message, time) -> {
            message.put(delta.key(), delta.after().encoded());
            return true;
          };
      tellNear(timeOf(delta.after()), news, parents, timestamp, outbox);
    }
    if (delta.before() != null) {
      TimedParents.News news =
          (message, time) -> {
            message.remove(delta.key());
            return delta.after() == null || !isNear(timeOf(delta.after()), time);
          };
      tellNear(timeOf(delta.before()), news, parents, timestamp, outbox);
    }
  }

  private void tellNear(
      long time, TimedParents.News news, TimedParents parents, long timestamp, Outbox outbox) {
    long first = time - program.toMicros();
    parents.tell(first, time - program.fromMicros(), news, timestamp, outbox);
  }

  private boolean isNear(long child, long parent) {
    return child - parent >= program.fromMicros() && child - parent <= program.toMicros();
  }

  /** Sends a parent all children near it, a message a step; an empty one where there are none. */
  private final class Filling implements Iterator<Runnable> {
    private final TimedParents.Fresh parent;
    private final TimedParents parents;
    private final TimedMap children;
    private final long timestamp;
    private final Outbox outbox;
    private Iterator<TimedMap.Timed> near;
    private boolean done;

    Filling(
        TimedParents.Fresh parent,
        TimedParents parents,
        TimedMap children,
        long timestamp,
        Outbox outbox) {
      this.parent = parent;
      this.parents = parents;
      this.children = children;
      this.timestamp = timestamp;
      this.outbox = outbox;
    }

    @Override
    public boolean hasNext() {
      return !done;
    }

    @Override
    public Runnable next() {
      if (done) {
        throw new NoSuchElementException();
      }
      return this::sendSome;
    }

    private void sendSome() {
      if (near == null) {
        near = children.from(parent.time() + program.fromMicros());
      }
      BranchMessage message = parents.begin();
      done = true;
      while (near.hasNext()) {
        TimedMap.Timed child = near.next();
        if (!isNear(child.time(), parent.time())) {
          break;
        }
        message.put(child.identity(), child.value());
        if (message.isFull()) {
          done = false;
          break;
        }
      }
      parents.send(parent.key(), parent.epoch(), message, timestamp, outbox);
    }
  }
}
