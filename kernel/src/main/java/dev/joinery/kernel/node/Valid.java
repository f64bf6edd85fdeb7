package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.BranchMessage;
import dev.joinery.kernel.message.Child;
import dev.joinery.kernel.message.ChildMessage;
import dev.joinery.kernel.message.Message;
import dev.joinery.kernel.message.Outbox;
import dev.joinery.kernel.program.ValidProgram;
import dev.joinery.kernel.state.EntryMap;
import dev.joinery.kernel.state.OrderedMap;
import dev.joinery.kernel.state.State;
import dev.joinery.kernel.state.TimedMap;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;

/**
 * Remembers, under one join value, parents by a time of theirs and versions of children from their
 * times on; sends each parent's Fold what changed among the versions that were valid at its time,
 * and a new parent all of these.
 *
 * <p>A version is a child of its own ({@link Versions#identityOf}), valid from the time that its key
 * ends with until the one that its order begins with. Of one row no two are valid at once, so a new
 * parent finds each row's by one look, and a version that comes late meets the parents of its time
 * alone.
 */
public final class Valid implements Node {
  private static final int PARENTS = 0;
  private static final int CHILDREN = PARENTS + TimedMap.SPACES;

  /** Behind a row's key it stands above all versions of the row. */
  private static final Slice ABOVE_ALL = Slice.of(new byte[] {-1, -1, -1, -1, -1, -1, -1, -1, -1});

  private final ValidProgram program;

  public Valid(ValidProgram program) {
    this.program = program;
  }

  /** A version of a child, valid until a time, that excluded. */
  private record Version(long until, Child child) {
    static Version read(Slice bytes) {
      ByteReader in = new ByteReader(bytes);
      return new Version(in.readLong(), Child.read(in.rest()));
    }

    Slice toBytes() {
      Slice encoded = child.encoded();
      ByteWriter out = new ByteWriter(encoded.length() + Long.BYTES);
      return Slice.of(out.writeLong(until).writeRaw(encoded).toBytes());
    }

    /** A version as it was sent, which tells its end in front of its order. */
    static Version of(Child sent) {
      long until = RowTime.endInFrontOf(sent.order());
      Slice order = RowTime.behindTime(sent.order());
      return new Version(until, Child.of(sent.epoch(), sent.flags(), order, sent.row()));
    }
  }

  /** A version before and after a batch; null where it was or is not here. */
  private record Delta(Slice key, Version before, Version after) {
    boolean isSame() {
      return before != null && after != null && before.child().sameContent(after.child());
    }

    /** The first time of which a parent may hear of it. */
    long first() {
      return isSame() ? Math.min(before.until(), after.until()) : Versions.fromOf(key);
    }

    /** The last one. */
    long last() {
      long was = before == null ? Long.MIN_VALUE : before.until();
      long until = after == null ? was : Math.max(was, after.until());
      return until == Long.MAX_VALUE ? until : until - 1;
    }

    /** Adds what a parent of one of these times is to know; false where that is nothing. */
    boolean addTo(BranchMessage message, long time) {
      boolean was = before != null && time < before.until();
      if (after != null && time < after.until()) {
        message.put(key, after.child().encoded());
        return true;
      }
      message.remove(key);
      return was;
    }
  }

  @Override
  public void handle(Slice key, List<byte[]> messages, State state, Outbox outbox) {
    long timestamp = Message.timestamp(messages.get(0));
    byte[] stored = state.read();
    ByteReader in = stored == null ? null : new ByteReader(stored);
    TimedParents parents =
        TimedParents.read(in, state, PARENTS, program.fold(), program.branch());
    OrderedMap children = OrderedMap.read(in, state, CHILDREN);
    List<Delta> deltas = applyChildren(Interval.sort(messages, parents), children);
    List<TimedParents.Fresh> fresh = parents.apply();
    write(state, parents, children);
    Iterator<Runnable> news =
        deltas.stream().<Runnable>map(each -> () -> tell(each, parents, timestamp, outbox))
            .iterator();
    TimedParents.run(deltas.size() * parents.size(), news, outbox);
    for (TimedParents.Fresh each : fresh) {
      Iterator<Runnable> all = new Filling(each, parents, children, timestamp, outbox);
      TimedParents.run(fresh.size() * (1 + children.size()), all, outbox);
    }
  }

  private static void write(State state, TimedParents parents, OrderedMap children) {
    ByteWriter out = new ByteWriter(512);
    parents.write(out);
    children.write(out);
    state.writeOrClear(out, parents.size() == 0 && children.size() == 0);
  }

  private static List<Delta> applyChildren(Map<Slice, ChildMessage> told, OrderedMap children) {
    List<Delta> applied = new ArrayList<>(told.size());
    for (ChildMessage message : told.values()) {
      Delta delta = apply(message, children);
      if (delta != null) {
        applied.add(delta);
      }
    }
    return applied;
  }

  /** Returns what changed, or null. */
  private static Delta apply(ChildMessage message, OrderedMap children) {
    Slice stored = children.get(message.key());
    Version before = stored == null ? null : Version.read(stored);
    if (before != null && message.epoch() < before.child().epoch()) {
      return null;
    }
    Version after = message.remove() ? null : Version.of(message.child());
    if (after == null) {
      children.remove(message.key());
    } else {
      children.put(message.key(), after.toBytes());
    }
    Delta delta = new Delta(message.key(), before, after);
    boolean unchanged =
        before == null ? after == null : delta.isSame() && before.until() == after.until();
    return unchanged ? null : delta;
  }

  private static void tell(Delta delta, TimedParents parents, long timestamp, Outbox outbox) {
    parents.tell(delta.first(), delta.last(), delta::addTo, timestamp, outbox);
  }

  /** Sends a parent each row's version of its time, a message a step; an empty one for none. */
  private static final class Filling implements Iterator<Runnable> {
    private final TimedParents.Fresh parent;
    private final TimedParents parents;
    private final OrderedMap children;
    private final long timestamp;
    private final Outbox outbox;
    private Slice next = Slice.EMPTY;

    Filling(
        TimedParents.Fresh parent,
        TimedParents parents,
        OrderedMap children,
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
      return next != null;
    }

    @Override
    public Runnable next() {
      if (next == null) {
        throw new NoSuchElementException();
      }
      return this::sendSome;
    }

    private void sendSome() {
      BranchMessage message = parents.begin();
      while (next != null && !message.isFull()) {
        EntryMap.Entry first = children.atLeast(next);
        if (first == null) {
          next = null;
        } else {
          Slice row = Versions.keyOf(first.key());
          next = Slice.of(behind(row, ABOVE_ALL));
          putValid(row, message);
        }
      }
      parents.send(parent.key(), parent.epoch(), message, timestamp, outbox);
    }

    /** Puts the version of a row that was valid at the parent's time, if there is one. */
    private void putValid(Slice row, BranchMessage message) {
      Slice above = Slice.of(Versions.identityOf(row, parent.time() + 1));
      EntryMap.Entry last = children.lastBelow(above);
      if (last == null || !Versions.keyOf(last.key()).equals(row)) {
        return;
      }
      Version version = Version.read(last.value());
      if (parent.time() < version.until()) {
        message.put(last.key(), version.child().encoded());
      }
    }

    private static byte[] behind(Slice row, Slice more) {
      ByteWriter out = new ByteWriter(row.length() + more.length());
      return out.writeRaw(row).writeRaw(more).toBytes();
    }
  }
}
