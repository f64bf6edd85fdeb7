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
import dev.joinery.kernel.message.ParentMessage;
import dev.joinery.kernel.program.Program;
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

  /** So many messages are held at once; more are sent one after the other. */
  private static final int FEW = 256;

  private final Program.IntervalProgram program;

  public Interval(Program.IntervalProgram program) {
    this.program = program;
  }

  /** A child before and after a batch; null where it was or is not here, or has no time. */
  private record Delta(Slice key, Child before, Child after) {}

  /** A parent that must hear everything. */
  private record Fresh(Slice key, long time, long epoch) {}

  @Override
  public void handle(Slice key, List<byte[]> messages, State state, Outbox outbox) {
    long timestamp = Message.timestamp(messages.get(0));
    byte[] stored = state.read();
    ByteReader in = stored == null ? null : new ByteReader(stored);
    TimedMap parents = TimedMap.read(in, state, PARENTS);
    TimedMap children = TimedMap.read(in, state, CHILDREN);
    Map<Slice, ChildMessage> told = new LinkedHashMap<>();
    Map<Slice, ParentMessage> announced = new LinkedHashMap<>();
    sort(messages, told, announced);
    List<Delta> deltas = applyChildren(told, children);
    List<Fresh> fresh = applyParents(announced, parents);
    write(state, parents, children);
    Iterator<Runnable> news = broadcast(deltas, parents, announced, timestamp, outbox);
    send(deltas.size() * parents.size() <= FEW, news, outbox);
    for (Fresh each : fresh) {
      Iterator<Runnable> all = new Filling(each, children, timestamp, outbox);
      send(fresh.size() * (1 + children.size()) <= FEW, all, outbox);
    }
  }

  private static void send(boolean now, Iterator<Runnable> steps, Outbox outbox) {
    if (now) {
      steps.forEachRemaining(Runnable::run);
    } else {
      outbox.later(steps);
    }
  }

  private static void sort(
      List<byte[]> messages,
      Map<Slice, ChildMessage> children,
      Map<Slice, ParentMessage> announced) {
    for (byte[] message : messages) {
      switch (Message.kind(message)) {
        case Message.CHILD_PUT, Message.CHILD_REMOVE -> {
          ChildMessage child = ChildMessage.read(message);
          children.merge(child.key(), child, ChildMessage::newer);
        }
        case Message.PARENT_PUT, Message.PARENT_REMOVE -> {
          ParentMessage parent = ParentMessage.read(message);
          announced.put(parent.key(), parent);
        }
        default -> throw Message.unexpected(message);
      }
    }
  }

  private static void write(State state, TimedMap parents, TimedMap children) {
    ByteWriter out = new ByteWriter(512);
    parents.write(out);
    children.write(out);
    if (parents.size() == 0 && children.size() == 0) {
      state.clear();
    } else {
      state.write(out.toBytes());
    }
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

  /** Applies announcements; returns the parents that must hear everything. */
  private static List<Fresh> applyParents(
      Map<Slice, ParentMessage> announced, TimedMap parents) {
    List<Fresh> fresh = new ArrayList<>();
    for (ParentMessage each : parents.inPageOrder(announced.values(), ParentMessage::key)) {
      if (each.remove()) {
        parents.remove(each.key());
      } else {
        long time = new ByteReader(each.row()).readLong();
        ByteWriter epoch = new ByteWriter(Long.BYTES).writeLong(each.epoch());
        parents.put(each.key(), time, Slice.of(epoch.toBytes()));
        fresh.add(new Fresh(each.key(), time, each.epoch()));
      }
    }
    return fresh;
  }

  /** Tells the parents near each child that changed, a child a step. */
  private Iterator<Runnable> broadcast(
      List<Delta> deltas,
      TimedMap parents,
      Map<Slice, ParentMessage> announced,
      long timestamp,
      Outbox outbox) {
    return deltas.stream()
        .<Runnable>map(
            each ->
                () -> {
                  Heard heard = new Heard(each, announced, timestamp, outbox);
                  heard.tellNear(each.after(), null, parents);
                  heard.tellNear(each.before(), each.after(), parents);
                })
        .iterator();
  }

  /** What parents that were here before hear of one child. */
  private final class Heard {
    private final Delta delta;
    private final Map<Slice, ParentMessage> announced;
    private final long timestamp;
    private final Outbox outbox;

    Heard(
        Delta delta, Map<Slice, ParentMessage> announced, long timestamp, Outbox outbox) {
      this.delta = delta;
      this.announced = announced;
      this.timestamp = timestamp;
      this.outbox = outbox;
    }

    /** Tells the parents near a child, but for those near another; both may be null. */
    void tellNear(Child child, Child other, TimedMap parents) {
      if (child == null) {
        return;
      }
      long time = timeOf(child);
      long last = time - program.fromMicros();
      Iterator<TimedMap.Timed> all = parents.from(time - program.toMicros());
      while (all.hasNext()) {
        TimedMap.Timed parent = all.next();
        if (parent.time() > last) {
          return;
        }
        boolean told = other != null && isNear(timeOf(other), parent.time());
        if (!told && !announced.containsKey(parent.identity())) {
          tell(parent);
        }
      }
    }

    private void tell(TimedMap.Timed parent) {
      BranchMessage message = new BranchMessage().begin(program.branch(), 0, Slice.EMPTY);
      if (delta.after() != null && isNear(timeOf(delta.after()), parent.time())) {
        message.put(delta.key(), delta.after().encoded());
      } else {
        message.remove(delta.key());
      }
      long epoch = new ByteReader(parent.value()).readLong();
      byte[] bytes = message.end().toBytes(timestamp, epoch);
      outbox.send(program.fold(), parent.identity().toBytes(), bytes);
    }
  }

  private boolean isNear(long child, long parent) {
    return child - parent >= program.fromMicros() && child - parent <= program.toMicros();
  }

  /** Sends a parent all children near it, a message a step; an empty one where there are none. */
  private final class Filling implements Iterator<Runnable> {
    private final Fresh parent;
    private final TimedMap children;
    private final long timestamp;
    private final Outbox outbox;
    private Iterator<TimedMap.Timed> near;
    private boolean done;

    Filling(Fresh parent, TimedMap children, long timestamp, Outbox outbox) {
      this.parent = parent;
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
      BranchMessage message = new BranchMessage().begin(program.branch(), 0, Slice.EMPTY);
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
      byte[] bytes = message.end().toBytes(timestamp, parent.epoch());
      outbox.send(program.fold(), parent.key().toBytes(), bytes);
    }
  }
}
