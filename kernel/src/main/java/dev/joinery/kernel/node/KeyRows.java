package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.state.EntryMap;
import dev.joinery.kernel.state.OrderedMap;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;

/**
 * The rows of one key of a pattern from a place on, with the one before it, by their number; each
 * is read when it is first asked for. The map behind it must not change meanwhile.
 */
final class KeyRows {
  private final Iterator<EntryMap.Entry> left;
  private final List<Member> members = new ArrayList<>();
  private final Reader reader;
  private final Set<Slice> fresh;
  private final int first;

  /** Reads a row as it is kept; {@code fresh} tells whether it was never tested. */
  interface Reader {
    UnsafeRow read(Slice kept, boolean fresh);
  }

  private record Member(Slice place, UnsafeRow row) {}

  /** {@code fresh} are the places whose rows were never tested. */
  KeyRows(OrderedMap rows, Slice from, Reader reader, Set<Slice> fresh) {
    this.reader = reader;
    this.fresh = fresh;
    EntryMap.Entry before = rows.lastBelow(from);
    if (before != null) {
      add(before);
    }
    this.first = members.size();
    this.left = rows.from(from);
  }

  private void add(EntryMap.Entry entry) {
    boolean isFresh = fresh.contains(entry.key());
    members.add(new Member(entry.key(), reader.read(entry.value(), isFresh)));
  }

  /** The number of the first row that stands at the place or behind it. */
  int first() {
    return first;
  }

  boolean has(int at) {
    while (members.size() <= at && left.hasNext()) {
      add(left.next());
    }
    return at < members.size();
  }

  Slice place(int at) {
    return members.get(at).place();
  }

  UnsafeRow row(int at) {
    return members.get(at).row();
  }

  boolean isFresh(int at) {
    return fresh.contains(members.get(at).place());
  }
}
