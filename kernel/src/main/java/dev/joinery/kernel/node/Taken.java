package dev.joinery.kernel.node;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** A row that a match has taken, with those before it, and what is read of them all so far. */
final class Taken {
  final int variable;
  final int at;
  final Taken before;

  /** What {@link MatchReads} knows of the rows so far; null where nothing is read on the way. */
  final MatchReads.Known known;

  Taken(int variable, int at, Taken before, MatchReads.Known known) {
    this.variable = variable;
    this.at = at;
    this.before = before;
    this.known = known;
  }

  /** All rows of the match, in their order. */
  List<Taken> all() {
    List<Taken> all = new ArrayList<>();
    for (Taken each = this; each != null; each = each.before) {
      all.add(each);
    }
    Collections.reverse(all);
    return all;
  }
}
