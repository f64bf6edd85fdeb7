package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.BinaryRow;
import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.BranchMessage;
import dev.joinery.kernel.message.Child;
import dev.joinery.kernel.message.ChildMessage;
import dev.joinery.kernel.program.DocumentProgram;
import dev.joinery.kernel.state.EntryMap;
import dev.joinery.kernel.state.Pages;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;

/**
 * One embed of a Match: remembers the children that carry the join value, the first of them and
 * aggregates; tells what a parent must hear.
 *
 * <p>It is opened for one address at a time. What it gave away stays valid when it is opened for
 * the next.
 */
final class Arm {
  private final DocumentProgram.ArmProgram program;
  private final int space;
  private final NodeContext context;
  private final Aggregates aggregates;
  private final UnsafeRow childRow;
  private final String product;
  private EntryMap children;
  private TopRows top;
  private List<ChildDelta> deltas;
  private Slice aggregated;
  private List<ChildDelta> changes;
  private boolean changed;
  private int failing;

  /** {@code space} numbers the pages of this arm's children; {@code aggregates} are its own. */
  Arm(DocumentProgram.ArmProgram program, int space, Aggregates aggregates, NodeContext context) {
    this.program = program;
    this.space = space;
    this.context = context;
    this.aggregates = aggregates;
    this.childRow = new UnsafeRow(program.childType().length());
    this.product = program.name().split("/", 2)[0];
  }

  /** Gives the keys of the children in what {@link #write} left. */
  void forEachKey(Slice stored, Pages pages, Consumer<Slice> taker) {
    ByteReader in = stored.isEmpty() ? null : new ByteReader(stored);
    EntryMap.read(in, pages, space).iterator().forEachRemaining(each -> taker.accept(each.key()));
  }

  /** Opens what {@link #write} left; {@code stored} is empty where there are no children. */
  void open(Slice stored, Pages pages) {
    ByteReader in = stored.isEmpty() ? null : new ByteReader(stored);
    children = EntryMap.read(in, pages, space);
    top = new TopRows(program.one() ? 1 : program.limit());
    aggregates.clear();
    if (in != null && in.hasMore()) {
      aggregates.read(in);
      top.read(in);
    } else {
      aggregates.addAll(children.iterator(), childRow.numFields());
      top.fill(children.iterator());
    }
    aggregated = result();
    changes = List.of();
    changed = false;
  }

  private Slice result() {
    return aggregates.isEmpty() ? Slice.EMPTY : aggregates.result();
  }

  /** Applies the newest message about each child. */
  void apply(List<ChildMessage> messages) {
    long totalBefore = children.size();
    List<TopRows.Item> topBefore = top.kept();
    Slice aggregatedBefore = aggregated;
    int overflowsBefore = aggregates.overflows();
    deltas = applyAll(messages);
    follow();
    aggregated = result();
    count(totalBefore);
    context.counters().productFailures(product, overflowsBefore, aggregates.overflows());
    changes = changesSince(topBefore);
    changed =
        !changes.isEmpty()
            || program.total() && totalBefore != children.size()
            || !aggregated.equals(aggregatedBefore);
  }

  private List<ChildDelta> applyAll(List<ChildMessage> messages) {
    Map<Slice, ChildMessage> newest = new LinkedHashMap<>();
    for (ChildMessage message : messages) {
      newest.merge(message.key(), message, ChildMessage::newer);
    }
    List<ChildDelta> applied = new ArrayList<>(newest.size());
    for (ChildMessage message : children.inPageOrder(newest.values(), ChildMessage::key)) {
      ChildDelta delta = apply(message);
      if (delta != null) {
        applied.add(delta);
      }
    }
    return applied;
  }

  private ChildDelta apply(ChildMessage message) {
    Slice stored = children.get(message.key());
    Child before = stored == null ? null : Child.read(stored);
    if (before != null && message.epoch() < before.epoch()) {
      return null;
    }
    if (message.remove()) {
      if (before != null) {
        children.remove(message.key());
      }
      return before == null ? null : new ChildDelta(message.key(), before, null);
    }
    Child after = message.child();
    children.put(message.key(), after.encoded());
    return before != null && before.sameContent(after)
        ? null
        : new ChildDelta(message.key(), before, after);
  }

  private void follow() {
    boolean again = false;
    failing = 0;
    for (ChildDelta delta : deltas) {
      if (!aggregates.isEmpty()) {
        again |= aggregate(delta);
      }
      top.follow(delta.key(), delta.before(), delta.after());
    }
    if (again) {
      aggregates.addAll(children.iterator(), childRow.numFields());
    }
    if (top.isShort(children.size())) {
      top.fill(children.iterator());
    }
  }

  /** Takes a child's old row out of the aggregates and its new one in; true as their remove. */
  private boolean aggregate(ChildDelta delta) {
    int known = aggregates.failures();
    boolean again =
        delta.before() != null
            && aggregates.remove(BinaryRow.point(childRow, delta.before().row()));
    int failedBefore = aggregates.failures() - known;
    if (delta.after() != null) {
      aggregates.add(BinaryRow.point(childRow, delta.after().row()));
    }
    int failedAfter = aggregates.failures() - known - failedBefore;
    failing += Math.max(0, failedAfter - failedBefore);
    return again;
  }

  private void count(long totalBefore) {
    if (program.one() && totalBefore < 2 && children.size() > 1) {
      context.counters().product(product, "multiple_matches", 1);
    }
    context.counters().productFailures(product, 0, failing);
  }

  /** What a Fold that knew the children before must hear. */
  private List<ChildDelta> changesSince(List<TopRows.Item> before) {
    if (!program.entries()) {
      return List.of();
    }
    return top.isLimited() ? ChildDelta.between(before, top.kept()) : deltas;
  }

  boolean isPaged() {
    return children.isPaged();
  }

  /** Removes all children. */
  void forget() {
    children.clear();
  }

  /** Writes what is remembered: nothing where there are no children. */
  Slice write() {
    ByteWriter out = new ByteWriter(1024);
    children.write(out);
    if (children.size() == 0) {
      return Slice.EMPTY;
    }
    if (children.isPaged()) {
      aggregates.write(out);
      top.write(out);
    }
    return new Slice(out.array(), 0, out.size());
  }

  BranchContents contents() {
    return new BranchContents(program.branch(), children.size(), aggregated, items());
  }

  private Iterable<TopRows.Item> items() {
    if (!program.entries()) {
      return List.of();
    }
    if (top.isLimited()) {
      return top.kept();
    }
    EntryMap all = children;
    return () -> TopRows.items(all.iterator());
  }

  /** How many children there are. */
  long total() {
    return children.size();
  }

  /** What became of the children that are kept. */
  List<ChildDelta> changes() {
    return changes;
  }

  /** Adds what changed to the last of {@code messages}, or to new ones where that is full. */
  void addChanges(List<BranchMessage> messages) {
    if (changed) {
      ChildDelta.tell(changes, program.branch(), children.size(), aggregated, messages);
    }
  }
}
