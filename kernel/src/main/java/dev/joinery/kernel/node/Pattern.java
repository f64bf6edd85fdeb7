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
import dev.joinery.kernel.state.Mapped;
import dev.joinery.kernel.state.OrderedMap;
import dev.joinery.kernel.state.State;
import dev.joinery.kernel.state.TimedMap;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructField;

/**
 * Remembers, under the columns that rows are partitioned by, the rows in their order, and the
 * matches in them; sends the document of each match that is another than before, and a tombstone
 * for each that is none any more.
 *
 * <p>A batch looks for matches again only where a row of it may have altered them ({@link
 * PatternSearch}).
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
  private final KeyCodec start;
  private final MatchReads reads;
  private final Matcher matcher;
  private final MatchDocument document;
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
    DataType[] types =
        Arrays.stream(fields).map(StructField::dataType).toArray(DataType[]::new);
    this.start =
        new KeyCodec(
            Arrays.stream(program.key())
                .mapToObj(each -> new KeyCodec.Column(each, types[each], types[each], false))
                .toList());
    this.reads = new MatchReads(node, program, context);
    this.matcher = new Matcher(program, reads);
    this.document = new MatchDocument(program, types, reads, context);
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
  public void show(Slice key, State state, Outbox outbox) {
    Sequence sequence = new Sequence(key, state);
    outbox.later(new Mapped<>(sequence.matches.keys(), each -> () -> sequence.show(each, outbox)));
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

  /** The rows and matches of one key while a batch is worked on. */
  private final class Sequence {
    private final MatchDocument.At shown;
    private final State state;
    private final OrderedMap rows;
    private final PatternMatches matches;
    private final PatternSearch search;
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

    /** Whether there may have been matches that are forgotten. */
    private final boolean lost;

    Sequence(Slice key, State state) {
      byte[] stored = state.read();
      ByteReader in = stored == null ? null : new ByteReader(stored);
      this.state = state;
      shown = document.new At(key);
      version = in == null ? state.highestForgotten() : in.readLong();
      lost = in == null && version > 0 && program.isForgetting();
      committed = in == null ? state.highestForgottenBefore() : version;
      retention.read(in);
      watermark = in == null ? Marks.UNKNOWN : in.readLong();
      noted = in != null && in.readByte() != 0;
      from = in == null ? Slice.EMPTY : in.readBlob();
      rows = OrderedMap.read(in, state, ROWS);
      matches = PatternMatches.read(in, state, MATCHES);
      ruled = rules == null ? null : rules.new Known(in, state, RULES);
      search = new PatternSearch(program, matcher, start, rows, matches, this::read);
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
        // A rule may tell of changes forever. A row that asked for it comes at once.
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

    private UnsafeRow read(Slice kept, boolean fresh) {
      if (ruled == null) {
        return BinaryRow.of(kept, columns);
      }
      UnsafeRow row = ruled.ruled(kept);
      if (fresh) {
        ruled.countFailures(kept, product);
      }
      return row;
    }

    void take(ByteReader in, Set<Slice> altered) {
      boolean comes = in.readByte() != 0;
      Slice place = in.readBlob();
      Slice row = in.rest();
      if (place.compareTo(from) < 0) {
        // Only what a snapshot tells comes so late: its rows are never left out before.
        context.counters().product(product, TOO_LATE, 1);
        return;
      }
      Slice old = ruled == null && !comes ? null : rows.get(place);
      if (comes ? row.equals(old) : !rows.remove(place)) {
        return;
      }
      altered.add(place);
      if (ruled != null) {
        ruled.noteOld(old, row);
      }
      if (comes) {
        rows.put(place, row);
        if (ruled != null) {
          ruled.note(row);
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

    // What is found

    /**
     * Looks for matches again; adds the keys of those that come and go to {@code touched}, and to
     * {@code documents} by start what those that come show.
     */
    void search(
        TreeSet<Slice> altered, Set<Slice> touched, TreeMap<Slice, Slice> documents) {
      long givenUp =
          search.run(
              from, altered, touched, each -> documents.put(each.place(), documentOf(each)));
      if (givenUp > 0) {
        context.counters().product(product, INSTANCE_LIMIT, givenUp);
      }
    }

    private Slice documentOf(PatternSearch.Occurrence found) {
      Slice made = shown.row(found);
      context.counters().productFailures(product, 0, document.failures());
      return made;
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
        if (sent == null && lost) {
          last.forgotten();
        }
        if (reopened != null) {
          last.reopen(new ByteReader(reopened));
        }
        if (match != null) {
          Slice known = documents.get(match.start());
          Slice row = known != null ? known : documentOf(match);
          last.send(SentDocument.Next.of(row, 0), () -> shown.key(key), timestamp, outbox);
        } else {
          last.sendGone(() -> shown.key(key), timestamp, outbox);
        }
        highest = Math.max(highest, last.version());
        matches.sent(key, last.isIdle() ? null : sent());
      }
      version = highest;
    }

    private Slice documentOf(Match match) {
      return documentOf(search.again(match));
    }

    void show(Slice key, Outbox outbox) {
      Slice sent = matches.sentOf(key);
      Match match = sent == null ? null : matches.shownOf(key, this::mayBeShown);
      if (match != null) {
        last.read(new ByteReader(sent));
        last.beginAbove(0); // What is kept may be above the version that it was sent under.
        last.show(SentDocument.Next.of(documentOf(match), 0), () -> shown.key(key), outbox);
      }
    }

    private Slice sent() {
      ByteWriter out = new ByteWriter(24);
      last.write(out);
      return Slice.of(out.toBytes());
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
        from = program.pastLast() ? matches.freeFrom(cut) : cut;
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
