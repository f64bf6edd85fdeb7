package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.BranchMessage;
import dev.joinery.kernel.message.Child;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;

/** A child before and after a batch; null where it was or is not here. */
record ChildDelta(Slice key, Child before, Child after) {
  /** What became of the children that are kept. */
  static List<ChildDelta> between(
      Collection<TopRows.Item> before, Collection<TopRows.Item> after) {
    Map<Slice, Child> gone = new HashMap<>();
    before.forEach(item -> gone.put(item.key(), item.child()));
    List<ChildDelta> differences = new ArrayList<>();
    for (TopRows.Item item : after) {
      Child known = gone.remove(item.key());
      if (known == null || !known.sameContent(item.child())) {
        differences.add(new ChildDelta(item.key(), known, item.child()));
      }
    }
    gone.forEach((key, child) -> differences.add(new ChildDelta(key, child, null)));
    return differences;
  }

  /**
   * Adds what changed of a branch to the last of {@code messages}, or to new ones where that is
   * full.
   */
  static void tell(
      List<ChildDelta> changes,
      int branch,
      long total,
      Slice aggregates,
      List<BranchMessage> messages) {
    Iterator<ChildDelta> each = changes.iterator();
    do {
      BranchMessage message = roomIn(messages);
      message.begin(branch, total, aggregates);
      while (each.hasNext() && !message.isFull()) {
        ChildDelta delta = each.next();
        if (delta.after() == null) {
          message.remove(delta.key());
        } else {
          message.put(delta.key(), delta.after().encoded());
        }
      }
      message.end();
    } while (each.hasNext());
  }

  private static BranchMessage roomIn(List<BranchMessage> messages) {
    if (messages.isEmpty() || messages.get(messages.size() - 1).isFull()) {
      messages.add(new BranchMessage());
    }
    return messages.get(messages.size() - 1);
  }
}
