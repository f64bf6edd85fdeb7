package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.BinaryRow;
import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.KeyCodec;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.Marks;
import dev.joinery.kernel.message.Message;
import dev.joinery.kernel.message.Outbox;
import dev.joinery.kernel.node.PatternMatches.Match;
import dev.joinery.kernel.program.PatternProgram;
import dev.joinery.kernel.state.EntryMap;
import dev.joinery.kernel.state.OrderedMap;
import dev.joinery.kernel.state.State;
import dev.joinery.kernel.state.TimedMap;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructField;

/**
 * Remembers, under the columns that rows are partitioned by, the rows in their order, and the
 * matches in them; sends the document of each match that is another than before, and a tombstone
 * for each that is none any more.
 *
 * <p>A batch looks for matches again from the first start that a row of it may have altered, and
 * stops where the search goes on as it did before. How far back that is follows from {@code within},
 * or from how many rows a search looks at; where there is neither, it is the first row.
 *
 * <p>Behind a {@link Closing} it sends a match once that has told it that the watermark is past its
 * end. Where matches end in time, rows are forgotten that no row which still counts can match with.
 *
 * <p>All that one batch sends for an address has one version, above all before it. So nothing needs
 * to be remembered of a match that is gone, and what the sink holds under no higher version was
 * committed.
 */
public final class Pattern implements Node {
  private static final String INSTANCE_LIMIT = "instance_limit";
  private static final String TOO_LATE = "too_late";
  private static final int ROWS = 0;
  private static final int MATCHES = 1;
  private static final int RULES = 4;

  /** Of rows: they are forgotten by the watermark, not as a {@link Retention} forgets. */
  private static final Slice OLD = Slice.of(new byte[] {1});

  private final PatternProgram program;
  private final NodeContext context;
  private final String product;
  private final int columns;
  private final PatternRules rules;
  private final DataType[] types;
  private final KeyCodec by;
  private final KeyCodec start;
  private final MatchReads reads;
  private final Matcher matcher;
  private final GroupDocument document;
  private final SentDocument last;
  private final Retention retention;
  private final Deadlines deadlines;

  public Pattern(int node, PatternProgram program, NodeContext context) {
    StructField[] fields = context.program().assemblers().get(program.known()).type().fields();
    this.program = program;
    this.context = context;
    this.product = context.productOf(program.input());
    this.columns = fields.length;
    this.rules = program.rules() == null ? null : new PatternRules(program, context);
    this.types =
        Arrays.stream(fields).map(StructField::dataType).toArray(DataType[]::new);
    this.by = KeyCodec.of(Arrays.copyOf(types, program.by()));
    this.start =
        new KeyCodec(
            Arrays.stream(program.key())
                .mapToObj(each -> new KeyCodec.Column(each, types[each], types[each], false))
                .toList());
    this.reads = new MatchReads(node, program, context);
    this.matcher = new Matcher(program, reads);
    this.document = new GroupDocument(program.assembler(), program.product(), context);
    this.last = new SentDocument(program.product(), context);
    this.retention = new Retention(context);
    this.deadlines = Deadlines.before(node, context.program());
  }

  @Override
  public void handle(Slice key, List<byte[]> messages, State state, Outbox outbox) {
    long timestamp = Message.latest(messages);
    Sequence sequence = new Sequence(key, state);
    TreeSet<Slice> altered = new TreeSet<>();
    long before = sequence.watermark;
    sequence.forgetOld();
    Set<Long> ended = new HashSet<>();
    sequence.hearRules(messages, altered);
    for (byte[] message : messages) {
      switch (Message.kind(message)) {
        case Message.RULE -> {}
        case Message.PLACED -> sequence.take(Message.body(message), altered);
        case Message.CLOSED -> sequence.hear(Message.body(message), ended);
        case Message.PENDING -> sequence.reopen(Message.body(message).rest());
        default -> throw Message.unexpected(message);
      }
    }
    Set<Slice> touched = new TreeSet<>();
    TreeMap<Slice, Slice> documents = new TreeMap<>();
    if (!altered.isEmpty()) {
      sequence.search(altered, touched, documents);
    }
    sequence.findClosed(before, ended, touched);
    touched.addAll(sequence.pending.keySet());
    sequence.send(touched, documents, timestamp, outbox);
    context.counters().productFailures(product, 0, reads.takeFailures());
    sequence.close(timestamp);
  }

  @Override
  public void expire(Slice key, List<Slice> entries, long timestamp, State state) {
    if (state.read() == null) {
      return;
    }
    Sequence sequence = new Sequence(key, state);
    if (entries.contains(OLD)) {
      sequence.forget();
    } else if (sequence.isEmpty()) {
      retention.expire(sequence.version, timestamp, state);
    }
  }

  /** The least place behind one. */
  private static Slice behind(Slice place) {
    return Slice.of(new ByteWriter(place.length() + 1).writeRaw(place).writeByte(0).toBytes());
  }

  /** The rows and matches of one key while a batch is worked on. */
  private final class Sequence {
    private final Object[] shown;
    private final State state;
    private final OrderedMap rows;
    private final PatternMatches matches;
    private final PatternRules.Known ruled;

    /** By the keys of their first rows, matches that the sink may hold and that no batch sent. */
    private final Map<Slice, Slice> pending = new TreeMap<>();

    private long version;

    /** All that was sent under this version, or one below it, was committed. */
    private final long committed;

    /** The watermark that was told last, less what is allowed. */
    private long watermark;

    /** Where the search begins: what stands before it is forgotten. */
    private Slice from;

    /** Whether it will be looked at for rows that are forgotten. */
    private boolean noted;

    Sequence(Slice key, State state) {
      byte[] stored = state.read();
      ByteReader in = stored == null ? null : new ByteReader(stored);
      this.state = state;
      shown = Arrays.copyOf(by.decode(key), program.by() + 1);
      version = in == null ? state.highestForgotten() : in.readLong();
      committed = in == null ? state.highestForgottenBefore() : version;
      retention.read(in);
      watermark = in == null ? Marks.UNKNOWN : in.readLong();
      noted = in != null && in.readByte() != 0;
      from = in == null ? Slice.EMPTY : in.readBlob();
      rows = OrderedMap.read(in, state, ROWS);
      matches = PatternMatches.read(in, state, MATCHES);
      ruled = rules == null ? null : rules.new Known(in, state, RULES);
    }

    boolean isEmpty() {
      return rows.size() == 0 && matches.areNone();
    }

    void close(long timestamp) {
      boolean gone = isEmpty();
      if (gone && ruled != null) {
        ruled.forgetSeen();
      }
      boolean knows = ruled != null && !ruled.isEmpty();
      if (gone && !knows && version <= state.highestForgotten()) {
        state.clear();
        return;
      }
      if (program.isForgetting() && rows.size() > 0 && !noted) {
        forgetLater();
      }
      ByteWriter out = new ByteWriter(256).writeLong(version);
      if (gone && version == committed && retention.goesOn(timestamp)) {
        // A rule may tell of changes for ever. A row that asked for it comes at once.
        retention.writeAgain(out);
        write(out);
        return;
      }
      retention.write(gone, timestamp, out);
      write(out);
      if (gone) {
        retention.expireLater(state);
      }
    }

    private void write(ByteWriter out) {
      out.writeLong(watermark).writeByte(noted ? 1 : 0).writeBlob(from);
      rows.write(out);
      matches.write(out);
      if (ruled != null) {
        ruled.write(out);
      }
      state.write(out.toBytes());
    }

    // What comes

    /** The sink may hold a match that was never committed; {@code told} is its version and key. */
    void reopen(Slice told) {
      ByteReader in = new ByteReader(told);
      if (in.readLong() > committed) {
        pending.put(in.rest(), told);
      }
    }

    /** Adds to {@code altered} the rows that see another row of a rule than before. */
    void hearRules(List<byte[]> messages, Set<Slice> altered) {
      Set<Slice> others = new HashSet<>();
      for (byte[] message : messages) {
        if (Message.kind(message) == Message.RULE && ruled.hear(Message.body(message))) {
          ByteReader told = Message.body(message);
          told.readByte();
          others.add(told.readBlob());
        }
      }
      if (!others.isEmpty()) {
        rows.from(from)
            .forEachRemaining(
                each -> {
                  if (ruled.sees(each.value(), others)) {
                    altered.add(each.key().detach());
                  }
                });
      }
    }

    private UnsafeRow read(Slice kept) {
      return ruled == null ? BinaryRow.of(kept, columns) : ruled.ruled(kept);
    }

    void take(ByteReader in, Set<Slice> altered) {
      boolean comes = in.readByte() != 0;
      Slice place = in.readBlob();
      Slice row = in.rest();
      if (place.compareTo(from) < 0) {
        // Only what a snapshot tells comes so late: its rows are never left out before.
        context.counters().product(product, TOO_LATE, 1);
      } else if (comes ? !row.equals(rows.get(place)) : rows.remove(place)) {
        altered.add(place);
        if (comes) {
          rows.put(place, row);
          if (ruled != null) {
            ruled.note(row);
          }
        }
      }
    }

    /** Adds to {@code ended} the deadlines that are waited for no more, though not passed. */
    void hear(ByteReader told, Set<Long> ended) {
      long time = told.readLong();
      long deadline = told.readLong();
      if (time != Marks.UNKNOWN) {
        watermark = Math.max(watermark, time - deadlines.allowedMicros());
      }
      if (deadline > time) {
        ended.add(deadline - deadlines.allowedMicros());
      }
    }

    // Searching

    /**
     * Finds the matches anew that changed rows may alter; adds their keys to {@code touched}, and
     * to {@code documents} by start what the new ones show.
     */
    void search(
        TreeSet<Slice> altered, Set<Slice> touched, TreeMap<Slice, Slice> documents) {
      Slice begin = beginBefore(altered.first());
      KeyRows keyRows = new KeyRows(rows, begin, this::read, altered);
      List<Match> found = new ArrayList<>();
      int at = keyRows.first();
      Slice end = null;
      while (keyRows.has(at) && end == null) {
        if (goesOnAsBefore(at, altered.last(), keyRows)) {
          end = keyRows.place(at);
          continue;
        }
        Matcher.Found match = matcher.from(at, keyRows);
        if (match.last() != null) {
          found.add(matchOf(at, match.last().at, false, keyRows));
          documents.put(keyRows.place(at), documentOf(at, match.last(), keyRows));
        } else if (match.givenUp()) {
          found.add(matchOf(at, at, true, keyRows));
        }
        at = match.last() != null && program.pastLast() ? match.last().at + 1 : at + 1;
      }
      countGivenUp(found);
      matches.replace(begin, end, found, touched);
    }

    private void countGivenUp(List<Match> found) {
      long more =
          found.stream().filter(each -> each.givenUp() && !matches.hasGivenUp(each)).count();
      if (more > 0) {
        context.counters().product(product, INSTANCE_LIMIT, more);
      }
    }

    /** The first place at which a search may go another way once a row has changed. */
    private Slice beginBefore(Slice altered) {
      Slice begin = from;
      if (program.byTime() && program.withinMicros() >= 0) {
        long earliest = TimedMap.timeOf(altered) - program.withinMicros();
        begin = later(begin, TimedMap.startOf(earliest));
      }
      if (program.mostRows() > 0) {
        begin = later(begin, rowsBefore(altered, program.mostRows() - 1));
      }
      Match before = program.pastLast() ? matches.lastBelow(begin) : null;
      return before != null && before.last().compareTo(begin) >= 0
          ? behind(before.last())
          : begin;
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
          program.looksBack()
              && (at == 0 || keyRows.place(at - 1).compareTo(lastAltered) <= 0);
      if (sawAltered || !program.pastLast()) {
        return !sawAltered;
      }
      Match before = matches.lastBelow(place);
      return before == null || before.last().compareTo(place) < 0;
    }

    private Match matchOf(int at, int lastAt, boolean givenUp, KeyRows keyRows) {
      UnsafeRow row = keyRows.row(at);
      long time = program.time() < 0 ? Marks.UNKNOWN : row.getLong(program.time());
      Slice key = Slice.of(start.encode(row));
      return new Match(keyRows.place(at), keyRows.place(lastAt), key, time, givenUp);
    }

    private Slice documentOf(int at, Taken taken, KeyRows keyRows) {
      showStart(keyRows.row(at));
      Slice made = document.row(shown, reads.of(taken, keyRows));
      context.counters().productFailures(product, 0, document.failures());
      return made;
    }

    private void showStart(UnsafeRow row) {
      Object[] values = new Object[program.key().length];
      for (int i = 0; i < values.length; i++) {
        int column = program.key()[i];
        values[i] = row.isNullAt(column) ? null : row.get(column, types[column]);
      }
      shown[program.by()] = new GenericInternalRow(values);
    }

    // What may be sent by its time

    /** Adds the keys of the matches for which nothing is waited any more since the last batch. */
    void findClosed(long before, Set<Long> ended, Set<Slice> touched) {
      if (deadlines == null) {
        return;
      }
      if (watermark > before) {
        closing(before, watermark, touched);
      }
      for (long each : ended) {
        Set<Slice> keys = new TreeSet<>();
        closing(each - 1, each, keys);
        keys.forEach(matches::end);
        touched.addAll(keys);
      }
    }

    /** Finds the matches whose time ends after one, and not after the other. */
    private void closing(long after, long until, Set<Slice> touched) {
      long span = program.withinMicros() + 1;
      long earliest = after == Marks.UNKNOWN ? Long.MIN_VALUE : after - span + 1;
      matches.visit(
          program.byTime() ? earliest : Long.MIN_VALUE,
          program.byTime() ? until - span + 1 : Long.MAX_VALUE,
          each -> {
            if (each.time() >= earliest && each.time() <= until - span) {
              touched.add(each.key());
            }
          });
    }

    /** Whether nothing is waited for any more that a match depends on. */
    private boolean mayBeShown(Match match) {
      return deadlines == null
          || match.time() + program.withinMicros() + 1 <= watermark
          || matches.hasEnded(match.key());
    }

    // Sending

    void send(
        Set<Slice> touched, TreeMap<Slice, Slice> documents, long timestamp, Outbox outbox) {
      long highest = version;
      for (Slice key : touched) {
        Match match = matches.shownOf(key, this::mayBeShown);
        Slice sent = matches.sentOf(key);
        Slice reopened = pending.get(key);
        if (sent == null && match == null && reopened == null) {
          continue;
        }
        last.read(sent == null ? null : new ByteReader(sent));
        last.beginAbove(version);
        if (reopened != null) {
          last.reopen(new ByteReader(reopened));
        }
        if (match != null) {
          Slice known = documents.get(match.start());
          Slice row = known != null ? known : documentAt(match.start());
          last.send(SentDocument.Next.of(row, 0), () -> keyOf(key), timestamp, outbox);
        } else {
          last.sendGone(() -> keyOf(key), timestamp, outbox);
        }
        highest = Math.max(highest, last.version());
        matches.sent(key, last.isIdle() ? null : sent());
      }
      version = highest;
    }

    /** The document of a match that was found before. */
    private Slice documentAt(Slice place) {
      KeyRows keyRows = new KeyRows(rows, place, this::read, Set.of());
      keyRows.has(keyRows.first());
      Taken taken = matcher.from(keyRows.first(), keyRows).last();
      return documentOf(keyRows.first(), taken, keyRows);
    }

    private Slice sent() {
      ByteWriter out = new ByteWriter(24);
      last.write(out);
      return Slice.of(out.toBytes());
    }

    private Slice keyOf(Slice code) {
      shown[program.by()] = new GenericInternalRow(keyOfStart().decode(code));
      return document.key(shown);
    }

    private KeyCodec keyOfStart() {
      DataType[] key = new DataType[program.key().length];
      for (int i = 0; i < key.length; i++) {
        key[i] = types[program.key()[i]];
      }
      return KeyCodec.of(key);
    }

    // Forgetting

    /** Has the first row looked at once it is over; not before what the watermark has reached. */
    private void forgetLater() {
      EntryMap.Entry first = rows.atLeast(from);
      if (first == null) {
        return;
      }
      int relation = program.relation();
      long time = Math.max(TimedMap.timeOf(first.key()), state.watermark(relation));
      state.expireAtWatermark(relation, time + program.forgottenAfterMicros(), OLD);
      noted = true;
    }

    void forget() {
      noted = false;
      forgetOld();
      boolean gone = isEmpty();
      if (!gone && rows.size() > 0) {
        forgetLater();
      }
      ByteWriter out = new ByteWriter(256).writeLong(version);
      retention.writeAgain(out);
      write(out);
      if (gone) {
        state.forget(version);
      }
    }

    /**
     * Forgets the starts that no row which still counts can alter, and the rows before all others;
     * first of all in a batch, so that what a match is sent as depends on no other address.
     */
    void forgetOld() {
      if (!program.isForgetting() || rows.size() == 0) {
        return;
      }
      long reached = state.watermark(program.relation());
      if (reached == Marks.UNKNOWN) {
        return;
      }
      Slice cut = TimedMap.startOf(overBefore(reached));
      if (cut.compareTo(from) > 0) {
        Match before = program.pastLast() ? matches.lastBelow(cut) : null;
        from =
            before != null && before.last().compareTo(cut) >= 0 ? behind(before.last()) : cut;
        matches.forgetBelow(cut, this::mayBeShown);
        EntryMap.Entry keep = program.looksBack() ? rows.lastBelow(from) : null;
        rows.takeBelow(keep == null ? from : keep.key(), Integer.MAX_VALUE);
        if (ruled != null) {
          ruled.forgetBelow(TimedMap.timeOf(cut));
        }
      }
    }

    /**
     * Before what time what begins is over: no row that still counts can alter it, and it does not
     * wait. A match may wait although the relation is past its time: where a partition that was idle
     * is heard of again, the {@link Closing} waits for it once more.
     */
    private long overBefore(long reached) {
      long over = reached - program.forgottenAfterMicros();
      if (deadlines == null) {
        return over;
      }
      Slice told =
          watermark == Marks.UNKNOWN
              ? Slice.EMPTY
              : TimedMap.startOf(watermark - program.withinMicros());
      Match waiting = matches.firstWaiting(told, TimedMap.startOf(over), this::mayBeShown);
      return waiting == null ? over : waiting.time();
    }
  }
}
