package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.Marks;
import dev.joinery.kernel.program.GroupProgram;
import dev.joinery.kernel.state.EntryMap;
import dev.joinery.kernel.state.Mapped;
import dev.joinery.kernel.state.OrderedMap;
import dev.joinery.kernel.state.Pages;
import java.util.Iterator;
import java.util.Map;
import java.util.NavigableMap;

/** The sessions of one key: remembers each under its start, and finds those that a time is near. */
final class Sessions {
  private final OrderedMap byStart;
  private final GroupProgram.SessionProgram shape;

  /**
   * One session, as it was last sent.
   *
   * @param start the time of its first row, {@code last} that of its last
   * @param run the start of the run of rows that it is cut from; its own where it is whole
   * @param failures how many expressions failed over its document
   * @param ended whether it was closed before the watermark came to its end
   * @param sent what {@link SentDocument} wrote
   * @param aggregates what {@link Aggregates} wrote
   */
  record Kept(
      long start,
      long last,
      long run,
      long rows,
      int failures,
      boolean ended,
      Slice sent,
      Slice aggregates) {
    private static Kept read(EntryMap.Entry entry) {
      long start = TimeCode.of(entry.key());
      ByteReader in = new ByteReader(entry.value());
      return new Kept(
          start,
          start + in.readVarLong(),
          start - in.readVarLong(),
          in.readVarLong(),
          in.readVarInt(),
          in.readByte() != 0,
          in.readBlob(),
          in.rest());
    }

    private Slice value() {
      ByteWriter out = new ByteWriter(sent.length() + aggregates.length() + 24);
      out.writeVarLong(last - start).writeVarLong(start - run).writeVarLong(rows);
      out.writeVarInt(failures).writeByte(ended ? 1 : 0).writeBlob(sent).writeRaw(aggregates);
      return Slice.of(out.toBytes());
    }
  }

  private Sessions(OrderedMap byStart, GroupProgram.SessionProgram shape) {
    this.byStart = byStart;
    this.shape = shape;
  }

  /** {@code in} is null where there is none; {@code space} numbers their pages. */
  static Sessions read(
      ByteReader in, Pages pages, int space, GroupProgram.SessionProgram shape) {
    return new Sessions(OrderedMap.read(in, pages, space), shape);
  }

  void write(ByteWriter out) {
    byStart.write(out);
  }

  boolean areNone() {
    return byStart.size() == 0;
  }

  void put(Kept session) {
    byStart.put(TimeCode.of(session.start()), session.value());
  }

  void remove(Kept session) {
    byStart.remove(TimeCode.of(session.start()));
  }

  /**
   * Adds to {@code found}, by their starts, all sessions of the runs that rows are in which stand
   * from one time to another, or are nearer to than the gap.
   */
  void findNear(long from, long to, NavigableMap<Long, Kept> found) {
    Map.Entry<Long, Kept> known = found.floorEntry(from);
    if (known != null && to <= known.getValue().last()) {
      return;
    }
    Kept near = lastBelow(to + shape.gapMicros());
    while (near != null && from - near.last() < shape.gapMicros()) {
      addRun(near.run(), found);
      near = lastBelow(near.run());
    }
  }

  /** Adds to {@code found} the sessions that end after one time and not after another. */
  void findEnding(long after, long until, NavigableMap<Long, Kept> found) {
    Kept session = lastBelow(Long.MAX_VALUE);
    while (session != null && endOf(session) > after) {
      if (endOf(session) <= until) {
        found.put(session.start(), session);
      }
      session = lastBelow(session.start());
    }
  }

  private long endOf(Kept session) {
    return shape.endOf(session.start(), session.last(), session.run());
  }

  /** All of them, in their order. */
  Iterator<Kept> all() {
    return new Mapped<>(byStart.from(TimeCode.of(Long.MIN_VALUE)), Kept::read);
  }

  /** A session as the piece of the rows that it is. */
  SessionPieces.Piece pieceOf(Kept session) {
    return new SessionPieces.Piece(
        session.start(), session.last(), session.run(), endOf(session));
  }

  /** The first of all; null where there is none. */
  Kept first() {
    return from(Long.MIN_VALUE);
  }

  private Kept from(long time) {
    Iterator<EntryMap.Entry> all = byStart.from(TimeCode.of(time));
    return all.hasNext() ? Kept.read(all.next()) : null;
  }

  /**
   * Removes those whose last row is of a time or before it. Of a run that goes on, the last of them
   * stays: it tells where the run begins.
   *
   * @return the last time of what went; {@link Marks#UNKNOWN} where nothing did
   */
  long removeUntil(long time) {
    long gone = Marks.UNKNOWN;
    Kept first = first();
    while (first != null && first.last() <= time) {
      Kept next = from(first.start() + 1);
      if (next != null && next.run() == first.run() && next.last() > time) {
        return gone;
      }
      remove(first);
      gone = first.last();
      first = next;
    }
    return gone;
  }

  private Kept lastBelow(long time) {
    EntryMap.Entry entry = byStart.lastBelow(TimeCode.of(time));
    return entry == null ? null : Kept.read(entry);
  }

  private void addRun(long run, NavigableMap<Long, Kept> found) {
    Iterator<EntryMap.Entry> all = byStart.from(TimeCode.of(run));
    while (all.hasNext()) {
      Kept session = Kept.read(all.next());
      if (session.run() != run) {
        return;
      }
      found.put(session.start(), session);
    }
  }
}
