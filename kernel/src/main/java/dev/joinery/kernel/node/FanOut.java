package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.ChildMessage;
import dev.joinery.kernel.message.FannedMessage.Heat;
import dev.joinery.kernel.message.Message;
import dev.joinery.kernel.message.Outbox;
import dev.joinery.kernel.message.ParentMessage;
import dev.joinery.kernel.node.Fanning.Told;
import dev.joinery.kernel.program.DocumentProgram;
import dev.joinery.kernel.state.EntryMap;
import dev.joinery.kernel.state.State;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.Spliterators;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;

/**
 * Remembers, under one join value, the children that carry it, and by how many rows of another
 * relation each Gather is led here; tells each of these the first children, what becomes of them,
 * and, once it is led here no more, that they are gone. What a Gather would do the Fold behind it
 * may do itself.
 *
 * <p>A Gather is told what is the same for all: what it knows of this join value is what it was told
 * by it. Above a number of rows that lead here the value is hot, and it is told that instead.
 */
public final class FanOut implements Node {
  private static final int GATHERS = 0;
  private static final int CHILDREN = 1;

  private final DocumentProgram.FanOutProgram program;
  private final Arm arm;

  public FanOut(DocumentProgram.FanOutProgram program, NodeContext context) {
    this.program = program;
    this.arm = new Arm(program.arm(), CHILDREN, new Aggregates(List.of()), context);
  }

  @Override
  public void handle(Slice key, List<byte[]> messages, State state, Outbox outbox) {
    byte[] stored = state.read();
    ByteReader in = stored == null ? null : new ByteReader(stored);
    long rows = in == null ? 0 : in.readVarLong();
    arm.open(in == null ? Slice.EMPTY : in.readBlob(), state);
    EntryMap gathers = EntryMap.read(in, state, GATHERS);
    long totalBefore = arm.total();
    Map<Slice, Integer> led = new LinkedHashMap<>();
    long rowsAfter = rows + sort(messages, led);
    Led changed = applyLed(led, gathers);
    write(state, rowsAfter, arm.write(), gathers);
    Children children = new Children(totalBefore);
    boolean was = isHot(rows);
    boolean is = isHot(rowsAfter);
    long timestamp = Message.timestamp(messages.get(0));
    boolean anew = program.arm().limit() == 0 && arm.isPaged();
    int branch = program.arm().branch();
    Fanning fanning = new Fanning(program.target(), branch, key, timestamp, anew, outbox);
    fanning.tell(
        changed.gone().iterator(),
        changed.gone().size(),
        was ? Told.of(Heat.COLD) : children.gone(Heat.SAME));
    fanning.tell(
        changed.fresh().iterator(),
        changed.fresh().size(),
        is ? Told.of(Heat.HOT) : children.all(Heat.SAME));
    fanning.tell(
        stream(gathers.iterator())
            .map(EntryMap.Entry::key)
            .filter(each -> !changed.fresh().contains(each))
            .iterator(),
        gathers.size() - changed.fresh().size(),
        children.changed(was, is));
  }

  private static <T> Stream<T> stream(Iterator<T> elements) {
    return StreamSupport.stream(Spliterators.spliteratorUnknownSize(elements, 0), false);
  }

  /** The children before and after a batch, as they are told. */
  private final class Children {
    private final long totalBefore;
    private final long total;
    private final Iterable<TopRows.Item> items;
    private final List<ChildDelta> changes;

    Children(long totalBefore) {
      this.totalBefore = totalBefore;
      this.total = arm.total();
      this.items = arm.contents().items();
      this.changes = arm.changes();
    }

    /** To who did not know them. */
    Told all(Heat heat) {
      return told(heat, total, () -> stream(items.iterator()).map(Children::came).iterator());
    }

    /** To who is not to know them any more. */
    Told gone(Heat heat) {
      Map<Slice, ChildDelta> changed = new HashMap<>();
      changes.forEach(each -> changed.put(each.key(), each));
      Supplier<Stream<ChildDelta>> same =
          () ->
              stream(items.iterator())
                  .filter(each -> !changed.containsKey(each.key()))
                  .map(each -> new ChildDelta(each.key(), each.child(), null));
      Supplier<Stream<ChildDelta>> other =
          () ->
              changes.stream()
                  .filter(each -> each.before() != null)
                  .map(each -> new ChildDelta(each.key(), each.before(), null));
      return told(heat, -totalBefore, () -> Stream.concat(same.get(), other.get()).iterator());
    }

    /** To who knew them, unless they were hot. */
    Told changed(boolean wasHot, boolean isHot) {
      if (wasHot) {
        return isHot ? Told.of(Heat.SAME) : all(Heat.COLD);
      }
      return isHot ? gone(Heat.HOT) : told(Heat.SAME, total - totalBefore, changes);
    }

    private Told told(Heat heat, long more, Iterable<ChildDelta> told) {
      return new Told(heat, program.arm().total() ? more : 0, told);
    }

    private static ChildDelta came(TopRows.Item item) {
      return new ChildDelta(item.key(), null, item.child());
    }
  }

  private boolean isHot(long rows) {
    return program.hotAbove() > 0 && rows > program.hotAbove();
  }

  /**
   * Applies what is told of children, and counts in {@code led} the rows that came and went; returns
   * how many more there are.
   */
  private long sort(List<byte[]> messages, Map<Slice, Integer> led) {
    List<ChildMessage> children = new ArrayList<>();
    long more = 0;
    for (byte[] message : messages) {
      switch (Message.kind(message)) {
        case Message.CHILD_PUT, Message.CHILD_REMOVE -> children.add(ChildMessage.read(message));
        case Message.PARENT_PUT, Message.PARENT_REMOVE -> {
          ParentMessage row = ParentMessage.read(message);
          int one = row.remove() ? -1 : 1;
          more += one;
          if (!row.key().isEmpty()) {
            led.merge(row.key(), one, Integer::sum);
          }
        }
        default -> throw Message.unexpected(message);
      }
    }
    if (!children.isEmpty()) {
      arm.apply(children);
    }
    return more;
  }

  /** The Gathers that are led here first, and no more. */
  private record Led(Set<Slice> fresh, Set<Slice> gone) {}

  private static Led applyLed(Map<Slice, Integer> led, EntryMap gathers) {
    Led changed = new Led(new LinkedHashSet<>(), new LinkedHashSet<>());
    for (Slice gather : gathers.inPageOrder(led.keySet(), Function.identity())) {
      Slice stored = gathers.get(gather);
      long before = stored == null ? 0 : new ByteReader(stored).readVarLong();
      long after = before + led.get(gather);
      if (after > 0) {
        gathers.put(gather, Slice.of(new ByteWriter(4).writeVarLong(after).toBytes()));
      } else if (before > 0) {
        gathers.remove(gather);
      }
      if (before <= 0 && after > 0) {
        changed.fresh().add(gather);
      } else if (before > 0 && after <= 0) {
        changed.gone().add(gather);
      }
    }
    return changed;
  }

  private static void write(State state, long rows, Slice children, EntryMap gathers) {
    ByteWriter out = new ByteWriter(1024).writeVarLong(rows).writeBlob(children);
    gathers.write(out);
    state.writeOrClear(out, rows == 0 && children.isEmpty() && gathers.size() == 0);
  }
}
