package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.KeyCodec;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.Marks;
import dev.joinery.kernel.node.PatternMatches.Match;
import dev.joinery.kernel.program.PatternProgram;
import dev.joinery.kernel.state.EntryMap;
import dev.joinery.kernel.state.OrderedMap;
import dev.joinery.kernel.state.TimedMap;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Consumer;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;

/**
 * Looks for the matches in the rows of one key again, from the first start that changed rows may
 * have altered up to where the search goes on as it did before.
 *
 * <p>How far back that is follows from {@code within}, or from how many rows a search looks at; where
 * there is neither, it is the first row.
 */
final class PatternSearch {
  private final PatternProgram program;
  private final Matcher matcher;
  private final KeyCodec start;
  private final OrderedMap rows;
  private final PatternMatches matches;
  private final KeyRows.Reader reader;

  /** {@code start} encodes the key of a first row; {@code reader} reads a row of {@code rows}. */
  PatternSearch(
      PatternProgram program,
      Matcher matcher,
      KeyCodec start,
      OrderedMap rows,
      PatternMatches matches,
      KeyRows.Reader reader) {
    this.program = program;
    this.matcher = matcher;
    this.start = start;
    this.rows = rows;
    this.matches = matches;
    this.reader = reader;
  }

  /** A match as it was found: the number of its first row, and the last that it took. */
  record Occurrence(KeyRows rows, int at, Taken last) {
    Slice place() {
      return rows.place(at);
    }

    UnsafeRow first() {
      return rows.row(at);
    }
  }

  /**
   * Finds the matches that changed rows may alter, and puts them in the place of those that were
   * known.
   *
   * @param from where the search of all begins
   * @param altered the places of the rows that changed
   * @param touched the keys of the matches that come and go are added here
   * @param found is given the matches that come
   * @return how many starts were given up that were not before
   */
  long run(
      Slice from, TreeSet<Slice> altered, Set<Slice> touched, Consumer<Occurrence> found) {
    Slice begin = beginBefore(altered.first(), from);
    KeyRows keyRows = new KeyRows(rows, begin, reader, altered);
    Matcher.Starts starts = matcher.in(keyRows);
    List<Match> anew = new ArrayList<>();
    int at = keyRows.first();
    Slice end = null;
    while (keyRows.has(at) && end == null) {
      if (goesOnAsBefore(at, altered.last(), keyRows)) {
        end = keyRows.place(at);
        continue;
      }
      Matcher.Found match = starts.from(at);
      if (match.last() != null) {
        anew.add(matchOf(at, match.last().at, false, keyRows));
        found.accept(new Occurrence(keyRows, at, match.last()));
      } else if (match.givenUp()) {
        anew.add(matchOf(at, at, true, keyRows));
      }
      at = match.last() != null && program.pastLast() ? match.last().at + 1 : at + 1;
    }
    long givenUp =
        anew.stream().filter(each -> each.givenUp() && !matches.hasGivenUp(each)).count();
    matches.replace(begin, end, anew, touched);
    return givenUp;
  }

  /** A match that was found before. */
  Occurrence again(Match match) {
    KeyRows keyRows = new KeyRows(rows, match.start(), reader, Set.of());
    int first = keyRows.first();
    int last = first;
    while (keyRows.has(last) && keyRows.place(last).compareTo(match.last()) < 0) {
      last++;
    }
    // No row behind its last is looked at for what none may be, either: there was none.
    return new Occurrence(keyRows, first, matcher.in(keyRows).from(first, last).last());
  }

  /** The first place at which a search may go another way once a row has changed. */
  private Slice beginBefore(Slice altered, Slice from) {
    Slice begin = from;
    if (program.byTime() && program.withinMicros() >= 0) {
      long earliest = TimedMap.timeOf(altered) - program.withinMicros();
      begin = later(begin, TimedMap.startOf(earliest));
    }
    if (program.mostRows() > 0) {
      begin = later(begin, rowsBefore(altered, program.mostRows() - 1));
    }
    return program.pastLast() ? matches.freeFrom(begin) : begin;
  }

  private static Slice later(Slice one, Slice other) {
    return one.compareTo(other) >= 0 ? one : other;
  }

  private Slice rowsBefore(Slice place, int number) {
    Slice found = place;
    for (int i = 0; i < number; i++) {
      EntryMap.Entry before = rows.lastBelow(found);
      if (before == null) {
        return found;
      }
      found = before.key();
    }
    return found;
  }

  /** Whether a row and all behind it are as before, and the search came there before, too. */
  private boolean goesOnAsBefore(int at, Slice lastAltered, KeyRows keyRows) {
    Slice place = keyRows.place(at);
    if (place.compareTo(lastAltered) <= 0) {
      return false;
    }
    boolean sawAltered =
        program.looksBack() && (at == 0 || keyRows.place(at - 1).compareTo(lastAltered) <= 0);
    if (sawAltered || !program.pastLast()) {
      return !sawAltered;
    }
    return matches.freeFrom(place).equals(place);
  }

  private Match matchOf(int at, int lastAt, boolean givenUp, KeyRows keyRows) {
    UnsafeRow row = keyRows.row(at);
    long time = program.time() < 0 ? Marks.UNKNOWN : row.getLong(program.time());
    Slice key = Slice.of(start.encode(row));
    return new Match(keyRows.place(at), keyRows.place(lastAt), key, time, givenUp);
  }
}
