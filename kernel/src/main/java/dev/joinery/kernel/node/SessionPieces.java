package dev.joinery.kernel.node;

import dev.joinery.kernel.message.PartialByTime;
import dev.joinery.kernel.program.GroupProgram;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeSet;

/**
 * Where the sessions near what a batch changed are now: joins times without a gap to runs, and cuts
 * the runs that are too long. It remembers nothing.
 *
 * <p>Rows are looked at only where one fell apart or a cut moved: else the sessions before tell.
 */
final class SessionPieces {
  private final GroupProgram.SessionProgram shape;
  private final RowsByTime rows;
  private final NavigableMap<Long, Sessions.Kept> before;
  private final NavigableMap<Long, List<PartialByTime>> changes;

  /**
   * Times without a gap between them, from a first to a last.
   *
   * @param from where cuts are counted from: the first, or earlier where that is forgotten
   */
  private record Run(long first, long last, long from) {
    Run(long first, long last) {
      this(first, last, first);
    }
  }

  /**
   * A session as it is now: a run, or the part of one that begins at {@code run}.
   *
   * @param end what its window is shown to end at, after {@code last}
   */
  record Piece(long start, long last, long run, long end) {}

  /**
   * Makes it for one batch.
   *
   * @param rows as they are now; null where sessions never fall apart
   * @param before the sessions near what changed, by their starts
   * @param changes by their first times
   */
  SessionPieces(
      GroupProgram.SessionProgram shape,
      RowsByTime rows,
      NavigableMap<Long, Sessions.Kept> before,
      NavigableMap<Long, List<PartialByTime>> changes) {
    this.shape = shape;
    this.rows = rows;
    this.before = before;
    this.changes = changes;
  }

  /** The sessions near what changed, in order. */
  List<Piece> find() {
    List<Run> runs = runs();
    List<Piece> pieces = new ArrayList<>(runs.size());
    for (Run run : runs) {
      long start = run.first();
      while (shape.cutOf(start, run.from()) <= run.last()) {
        long cut = shape.cutOf(start, run.from());
        pieces.add(pieceOf(start, lastBelow(cut), run.from()));
        start = firstFrom(cut);
      }
      pieces.add(pieceOf(start, run.last(), run.from()));
    }
    return pieces;
  }

  private List<Run> runs() {
    TreeSet<Long> empty = new TreeSet<>();
    List<Run> parts = new ArrayList<>();
    for (List<PartialByTime> ofTime : changes.values()) {
      long first = ofTime.get(0).first();
      if (rows != null && !rows.has(first)) {
        empty.add(first);
      } else {
        ofTime.forEach(each -> parts.add(new Run(each.first(), each.last())));
      }
    }
    before.values().forEach(session -> addWhatStands(session, empty, parts));
    parts.sort(Comparator.comparingLong(Run::first));
    return joined(parts);
  }

  /** Adds the parts of a session between the times that have no rows any more. */
  private void addWhatStands(Sessions.Kept session, TreeSet<Long> empty, List<Run> parts) {
    long from = session.start();
    int known = parts.size();
    for (long gone : empty.subSet(from, true, session.last(), true)) {
      if (gone < from) {
        continue;
      }
      if (gone > from) {
        parts.add(new Run(from, rows.lastBelow(gone)));
      }
      from = rows.firstFrom(gone);
    }
    if (from <= session.last()) {
      parts.add(new Run(from, session.last()));
    }
    if (parts.size() > known && parts.get(known).first() == session.start()) {
      Run first = parts.get(known);
      parts.set(known, new Run(first.first(), first.last(), startOf(session)));
    }
  }

  /** Where the run of a session begins, if it is the first of it; else where itself does. */
  private long startOf(Sessions.Kept session) {
    Map.Entry<Long, Sessions.Kept> earlier = before.lowerEntry(session.start());
    boolean first = earlier == null || earlier.getValue().run() != session.run();
    return first ? session.run() : session.start();
  }

  private List<Run> joined(List<Run> parts) {
    List<Run> runs = new ArrayList<>();
    for (Run part : parts) {
      Run open = runs.isEmpty() ? null : runs.get(runs.size() - 1);
      if (open != null && part.first() - open.last() < shape.gapMicros()) {
        long last = Math.max(open.last(), part.last());
        runs.set(runs.size() - 1, new Run(open.first(), last, open.from()));
      } else {
        runs.add(part);
      }
    }
    return runs;
  }

  /** The last time below one that has rows: where nothing changed, that of a session before. */
  private long lastBelow(long time) {
    Map.Entry<Long, Sessions.Kept> session = before.lowerEntry(time);
    Long changed = changes.lowerKey(time);
    boolean known =
        session != null
            && session.getValue().last() < time
            && (changed == null || changed < session.getValue().last());
    return known ? session.getValue().last() : rows.lastBelow(time);
  }

  /** The same for the first time that has rows, from a time on. */
  private long firstFrom(long time) {
    Map.Entry<Long, Sessions.Kept> open = before.lowerEntry(time);
    Long session = before.ceilingKey(time);
    Long changed = changes.ceilingKey(time);
    boolean known =
        session != null
            && (open == null || open.getValue().last() < time)
            && (changed == null || changed > session);
    return known ? session : rows.firstFrom(time);
  }

  private Piece pieceOf(long start, long last, long run) {
    return new Piece(start, last, run, shape.endOf(start, last, run));
  }
}
