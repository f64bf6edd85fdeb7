package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.state.EntryMap;
import dev.joinery.kernel.state.Mapped;
import dev.joinery.kernel.state.OrderedMap;
import dev.joinery.kernel.state.Pages;
import dev.joinery.kernel.state.TimedMap;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Predicate;

/**
 * The matches in the rows of one key: by the place of their first row, by the key of that row, and
 * what was last sent of each such key.
 *
 * <p>A log may tell one key twice. Of the matches that begin with it, the last is sent.
 */
final class PatternMatches {
  private static final int GIVEN_UP = 1;
  private static final int ENDED = 1;

  private final OrderedMap byStart;
  private final OrderedMap byKey;
  private final OrderedMap sent;

  /**
   * A match, or a start that was given up.
   *
   * @param start the place of its first row, {@code last} that of its last
   * @param key of its first row
   * @param time of its first row
   */
  record Match(Slice start, Slice last, Slice key, long time, boolean givenUp) {
    static Match read(EntryMap.Entry entry) {
      ByteReader in = new ByteReader(entry.value());
      boolean givenUp = in.readByte() == GIVEN_UP;
      long time = in.readLong();
      return new Match(entry.key(), in.readBlob(), in.rest(), time, givenUp);
    }

    Slice toBytes() {
      ByteWriter out = new ByteWriter(last.length() + key.length() + 16);
      out.writeByte(givenUp ? GIVEN_UP : 0).writeLong(time).writeBlob(last).writeRaw(key);
      return Slice.of(out.toBytes());
    }
  }

  private PatternMatches(OrderedMap byStart, OrderedMap byKey, OrderedMap sent) {
    this.byStart = byStart;
    this.byKey = byKey;
    this.sent = sent;
  }

  /** Reads what {@link #write} left; {@code space} is the first of three. */
  static PatternMatches read(ByteReader in, Pages pages, int space) {
    OrderedMap byStart = OrderedMap.read(in, pages, space);
    OrderedMap byKey = OrderedMap.read(in, pages, space + 1);
    return new PatternMatches(byStart, byKey, OrderedMap.read(in, pages, space + 2));
  }

  void write(ByteWriter out) {
    byStart.write(out);
    byKey.write(out);
    sent.write(out);
  }

  boolean areNone() {
    return byStart.size() == 0 && sent.size() == 0;
  }

  /** The last that begins before a place; null for none. */
  private Match lastBelow(Slice place) {
    EntryMap.Entry entry = byStart.lastBelow(place);
    return entry == null ? null : Match.read(entry);
  }

  /** The first place from one on that no match takes which begins before that one. */
  Slice freeFrom(Slice place) {
    Match before = lastBelow(place);
    return before != null && before.last().compareTo(place) >= 0 ? behind(before.last()) : place;
  }

  private static Slice behind(Slice place) {
    return Slice.of(new ByteWriter(place.length() + 1).writeRaw(place).writeByte(0).toBytes());
  }

  /** Whether the search from the start of one was given up before. */
  boolean hasGivenUp(Match match) {
    Slice stored = byStart.get(match.start());
    return stored != null && new ByteReader(stored).readByte() == GIVEN_UP;
  }

  /**
   * Puts matches in the place of those that begin from a place on and before another, null for all
   * behind; adds the keys of both to {@code touched}.
   */
  void replace(Slice from, Slice below, List<Match> found, Set<Slice> touched) {
    List<Match> gone = new ArrayList<>();
    Iterator<EntryMap.Entry> old = byStart.from(from);
    while (old.hasNext()) {
      Match each = Match.read(old.next());
      if (below != null && each.start().compareTo(below) >= 0) {
        break;
      }
      gone.add(each);
    }
    for (Match each : gone) {
      byStart.remove(each.start());
      forgetKey(each, touched);
    }
    for (Match each : found) {
      byStart.put(each.start(), each.toBytes());
      if (!each.givenUp()) {
        byKey.put(codeOf(each), Slice.EMPTY);
        touched.add(each.key());
      }
    }
  }

  private void forgetKey(Match match, Set<Slice> touched) {
    if (!match.givenUp()) {
      byKey.remove(codeOf(match));
      touched.add(match.key());
    }
  }

  private static Slice codeOf(Match match) {
    ByteWriter out = new ByteWriter(match.key().length() + match.start().length());
    return Slice.of(out.writeRaw(match.key()).writeRaw(match.start()).toBytes());
  }

  /** The last match that begins with a key, of those that may be shown; null for none. */
  Match shownOf(Slice key, Predicate<Match> mayBeShown) {
    Match found = null;
    Iterator<EntryMap.Entry> entries = byKey.from(key);
    while (entries.hasNext()) {
      Slice code = entries.next().key();
      if (code.length() < key.length() || !code.sub(0, key.length()).equals(key)) {
        break;
      }
      Slice start = code.sub(key.length(), code.length() - key.length());
      Match match = Match.read(new EntryMap.Entry(start, byStart.get(start)));
      found = mayBeShown.test(match) ? match : found;
    }
    return found;
  }

  /** Gives the matches whose first row has a time from one on and below another. */
  void visit(long from, long below, Consumer<Match> each) {
    boolean all = below == Long.MAX_VALUE;
    Iterator<EntryMap.Entry> entries =
        byStart.from(from == Long.MIN_VALUE ? Slice.EMPTY : TimedMap.startOf(from));
    Slice end = all ? null : TimedMap.startOf(below);
    while (entries.hasNext()) {
      EntryMap.Entry entry = entries.next();
      if (!all && entry.key().compareTo(end) >= 0) {
        return;
      }
      Match match = Match.read(entry);
      if (!match.givenUp()) {
        each.accept(match);
      }
    }
  }

  /**
   * The first match that begins from a place on and before another, and may not be shown yet; null
   * for none.
   */
  Match firstWaiting(Slice from, Slice below, Predicate<Match> mayBeShown) {
    Iterator<EntryMap.Entry> entries = byStart.from(from);
    while (entries.hasNext()) {
      EntryMap.Entry entry = entries.next();
      if (entry.key().compareTo(below) >= 0) {
        return null;
      }
      Match match = Match.read(entry);
      if (!match.givenUp() && !mayBeShown.test(match)) {
        return match;
      }
    }
    return null;
  }

  // What was sent of a key

  /** What was last written of a key by {@link #sent}; null for nothing. */
  Slice sentOf(Slice key) {
    Slice stored = sent.get(key);
    return stored == null || stored.length() == 1 ? null : stored.sub(1, stored.length() - 1);
  }

  /** The keys of which something was sent, or awaited no longer. */
  Iterator<Slice> keys() {
    return new Mapped<>(sent.from(Slice.EMPTY), each -> each.key().detach());
  }

  /** Keeps what was sent of a key, null where the sink holds nothing. */
  void sent(Slice key, Slice bytes) {
    write(key, flagsOf(key), bytes);
  }

  private int flagsOf(Slice key) {
    Slice stored = sent.get(key);
    return stored == null ? 0 : new ByteReader(stored).readByte();
  }

  private void write(Slice key, int flags, Slice bytes) {
    if (flags == 0 && bytes == null) {
      sent.remove(key);
      return;
    }
    ByteWriter out = new ByteWriter(32).writeByte(flags);
    sent.put(key, Slice.of((bytes == null ? out : out.writeRaw(bytes)).toBytes()));
  }

  /** Whether nothing is waited for any more of matches that begin with a key. */
  boolean hasEnded(Slice key) {
    return (flagsOf(key) & ENDED) != 0;
  }

  void end(Slice key) {
    write(key, flagsOf(key) | ENDED, sentOf(key));
  }

  /** Forgets the matches that begin before a place; what was sent of them stays so. */
  void forgetBelow(Slice place, Predicate<Match> mayBeShown) {
    Set<Slice> keys = new HashSet<>();
    for (EntryMap.Entry entry : byStart.takeBelow(place, Integer.MAX_VALUE)) {
      forgetKey(Match.read(entry), keys);
    }
    for (Slice key : keys) {
      if (shownOf(key, mayBeShown) == null) {
        sent.remove(key);
      }
    }
  }
}
