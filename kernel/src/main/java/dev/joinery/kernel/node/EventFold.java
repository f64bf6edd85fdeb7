package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.BinaryRow;
import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.KeyCodec;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.DocumentLimit;
import dev.joinery.kernel.message.Marks;
import dev.joinery.kernel.message.Message;
import dev.joinery.kernel.message.NumberedEvent;
import dev.joinery.kernel.message.Outbox;
import dev.joinery.kernel.program.EventFoldProgram;
import dev.joinery.kernel.program.Program;
import dev.joinery.kernel.state.EntryMap;
import dev.joinery.kernel.state.OrderedMap;
import dev.joinery.kernel.state.State;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Remembers, under the columns that tell states apart, the events of a log by their numbers, the
 * state that they make, and what it was at every hundredth of them; sends the state where it
 * changed.
 *
 * <p>Events behind a gap wait until one of them has waited long enough, or until there are so many: no
 * number before that one is waited for any more. The {@link Closing} before the node tells how far the
 * watermark has come; where events have no times, the clock decides, from the batch that brought one.
 * An event that comes after its gap was given up, or that stands before another of its number, has
 * those behind it folded again, from the last state that was kept before it. So an event that follows
 * the last one costs itself, whatever came before.
 */
public final class EventFold implements Node {
  private static final String CONFLICT = "sequence_conflict";
  private static final int EVENTS = 0;
  private static final int STATES = 1;
  private static final int EVERY = 100;

  private final EventFoldProgram program;
  private final NodeContext context;
  private final String product;
  private final DocumentLimit limit;
  private final Assembler initial;
  private final Map<UTF8String, Assembler> when = new HashMap<>();
  private final KeyCodec address;
  private final UnsafeProjection key;
  private final UnsafeProjection document;
  private final UnsafeProjection compared;
  private final DataType[] state;
  private final UnsafeRow stateRow;
  private final Slice nothing;
  private final UnsafeRow event;
  private final StructType whole;
  private final SentDocument last;

  public EventFold(EventFoldProgram program, NodeContext context) {
    Program.ProductProgram types = context.program().products().get(program.product());
    this.program = program;
    this.context = context;
    this.product = types.name();
    this.limit = new DocumentLimit(types, context.program().maxDocumentBytes());
    this.initial = context.assembler(program.initial());
    for (EventFoldProgram.Transition each : program.when()) {
      when.put(UTF8String.fromString(each.kind()), context.assembler(each.assembler()));
    }
    this.address = EventGate.codecOf(program, context.program());
    this.key = UnsafeProjection.create(typesOf(types.key()));
    this.document = UnsafeProjection.create(typesOf(types.value()));
    this.state = typesOf(context.program().assemblers().get(program.initial()).type());
    this.stateRow = new UnsafeRow(state.length);
    this.nothing =
        BinaryRow.copy(
            UnsafeProjection.create(state).apply(new GenericInternalRow(state.length)));
    List<Program.Slot> visible = context.visible(program.relation());
    this.event = new UnsafeRow(visible.size());
    this.whole = context.visibleType(program.relation());
    List<Expression> columns = new ArrayList<>();
    for (int each : program.compared()) {
      columns.add(new BoundReference(each, visible.get(each).type(), true));
    }
    this.compared = UnsafeProjection.create(CollectionConverters.asScala(columns).toSeq());
    this.last = new SentDocument(program.product(), context);
  }

  private static DataType[] typesOf(StructType type) {
    return Arrays.stream(type.fields()).map(StructField::dataType).toArray(DataType[]::new);
  }

  @Override
  public void handle(Slice key, List<byte[]> messages, State state, Outbox outbox) {
    long timestamp = Message.latest(messages);
    Log log = new Log(key, state);
    List<NumberedEvent> events = new ArrayList<>(messages.size());
    boolean reopened = false;
    for (byte[] message : messages) {
      switch (Message.kind(message)) {
        case Message.NUMBERED -> events.add(NumberedEvent.read(message));
        case Message.CLOSED -> log.hear(Message.body(message));
        case Message.PENDING -> {
          last.reopen(Message.body(message));
          reopened = true;
        }
        default -> throw Message.unexpected(message);
      }
    }
    events.sort(NumberedEvent::comparePlace);
    for (NumberedEvent each : events) {
      log.take(program.waitsByClock() ? each.since(timestamp) : each, timestamp, outbox);
    }
    log.goOn(reopened, timestamp, state, outbox);
  }

  @Override
  public void wake(Slice key, long timestamp, State state, Outbox outbox) {
    new Log(key, state).goOn(false, timestamp, state, outbox);
  }

  @Override
  public void show(Slice key, State state, Outbox outbox) {
    Log log = new Log(key, state);
    if (log.exists && !last.isIdle()) {
      last.show(SentDocument.Next.of(log.document(), 0), log::keyRow, outbox);
    }
  }

  /** The events of one key while a batch is worked on. */
  private final class Log {
    private final Slice key;
    private final OrderedMap events;
    private final OrderedMap states;

    /** The highest number of all. */
    private long highest;

    /** The highest number before which none is waited for. */
    private long givenUp;

    /** The last number that {@code now} is folded up to; 0 before the first. */
    private long folded;

    /** Whether any event is folded. */
    private boolean exists;

    /** How many expressions have failed on the way to {@code now}. */
    private long failures;

    private Slice now;

    /** What the least event is that has to be folded again. */
    private long again = Long.MAX_VALUE;

    private long reached = Marks.UNKNOWN;
    private boolean endsTimeless;
    private boolean touched;

    Log(Slice key, State state) {
      this.key = key;
      byte[] stored = state.read();
      ByteReader in = stored == null ? null : new ByteReader(stored);
      last.read(in);
      if (in == null) {
        begin();
      } else {
        highest = in.readLong();
        givenUp = in.readLong();
        folded = in.readLong();
        exists = in.readByte() == 1;
        failures = in.readVarLong();
        now = in.readBlob();
      }
      events = OrderedMap.read(in, state, EVENTS);
      states = OrderedMap.read(in, state, STATES);
    }

    void write(State state) {
      if (!touched) {
        return;
      }
      ByteWriter out = new ByteWriter(256);
      last.write(out);
      out.writeLong(highest).writeLong(givenUp).writeLong(folded);
      out.writeByte(exists ? 1 : 0).writeVarLong(failures).writeBlob(now);
      events.write(out);
      states.write(out);
      state.write(out.toBytes());
    }

    /** Folds what waits no more, sends the state where it changed, and keeps it. */
    void goOn(boolean reopened, long timestamp, State state, Outbox outbox) {
      reached = program.waitsByClock() ? timestamp : reached;
      giveUp();
      if (fold() || reopened) {
        send(timestamp, outbox);
      }
      write(state);
      long due = program.waitsByClock() ? nextDue() : Long.MAX_VALUE;
      if (due < Long.MAX_VALUE) {
        state.wakeAt(due);
      }
    }

    /** When the first of the events that wait has waited long enough, by the clock. */
    private long nextDue() {
      long due = Long.MAX_VALUE;
      for (Iterator<EntryMap.Entry> left = after(folded); left.hasNext(); ) {
        EntryMap.Entry entry = left.next();
        NumberedEvent each = NumberedEvent.of(TimeCode.of(entry.key()), entry.value());
        due = Math.min(due, each.since() + program.waitMicros() + 1);
      }
      return due;
    }

    private void begin() {
      folded = 0;
      exists = false;
      initial.assemble(nothing, BinaryRow.point(stateRow, nothing), Assembler.NO_INPUTS);
      failures = initial.failures();
      now = initial.row();
    }

    // Events

    /** The watermark has come to when an event no longer waits, or all logs have ended. */
    void hear(ByteReader in) {
      long watermark = in.readLong();
      long deadline = in.readLong();
      if (deadline >= EventGate.NEVER) {
        endsTimeless = true;
        reached = Math.max(reached, watermark);
      } else {
        reached = Math.max(reached, Math.max(watermark, deadline));
      }
    }

    void take(NumberedEvent told, long timestamp, Outbox outbox) {
      Slice place = TimeCode.of(told.number());
      Slice kept = told.number() > highest ? null : events.get(place);
      highest = Math.max(highest, told.number());
      if (kept == null) {
        put(place, told, true);
        return;
      }
      NumberedEvent standing = NumberedEvent.of(told.number(), kept);
      boolean same = isSame(standing.row(), told.row());
      int order = told.comparePlace(standing);
      boolean placeless = order == 0 && told.isOrderless();
      if (placeless) {
        order = told.row().compareTo(standing.row()); // Whichever it is, it is always the same.
      }
      long since = earlier(standing.since(), told.since());
      if (order < 0) {
        put(place, told.since(since), !told.row().equals(standing.row()));
      } else if (since != standing.since()) {
        put(place, standing.since(since), false);
      }
      if (same || order == 0) {
        context.counters().product(product, "repeated", 1);
        return;
      }
      String detail =
          "Two events that differ have the number "
              + told.number()
              + (placeless ? ", and no position tells the first." : "; the first in the log counts.");
      Slice leftOut = order < 0 ? standing.row() : told.row();
      outbox.emit(limit.letter(CONFLICT, detail, keyRow(), whole, leftOut, timestamp));
    }

    private void put(Slice place, NumberedEvent told, boolean folds) {
      touched = true;
      events.put(place, told.kept());
      if (folds && told.number() <= folded) {
        again = Math.min(again, told.number());
      }
    }

    private long earlier(long one, long other) {
      if (one == Marks.UNKNOWN || other == Marks.UNKNOWN) {
        return Math.max(one, other); // Unknown is below all.
      }
      return Math.min(one, other);
    }

    private boolean isSame(Slice one, Slice two) {
      if (one.equals(two)) {
        return true;
      }
      Slice first = BinaryRow.copy(compared.apply(BinaryRow.point(event, one)));
      return first.equals(BinaryRow.copy(compared.apply(BinaryRow.point(event, two))));
    }

    // Gaps

    /** Finds which numbers are waited for no more, and counts the gaps among them. */
    void giveUp() {
      if (highest <= givenUp || (program.waitMicros() > 0 && !hasHeard())) {
        return;
      }
      long begun = Math.max(folded, givenUp);
      long before = begun;
      long over = 0;
      long gaps = 0;
      long found = 0;
      long waiting = countAfter(begun);
      for (Iterator<EntryMap.Entry> left = after(begun); left.hasNext(); ) {
        EntryMap.Entry entry = left.next();
        long number = TimeCode.of(entry.key());
        gaps += number > before + 1 ? 1 : 0;
        before = number;
        if (hasWaited(NumberedEvent.of(number, entry.value()), waiting)) {
          over = number;
          found = gaps;
        }
        waiting--;
      }
      if (over > givenUp) {
        touched = true;
        givenUp = over;
        if (found > 0) {
          context.counters().product(product, "sequence_gaps", found);
        }
      }
    }

    private boolean hasHeard() {
      return reached != Marks.UNKNOWN || endsTimeless;
    }

    /** How many events may wait; as many as there can be where their number decides nothing. */
    private long countAfter(long number) {
      if (program.waitEvents() == null) {
        return Long.MAX_VALUE;
      }
      long count = 0;
      for (Iterator<EntryMap.Entry> left = after(number); left.hasNext(); left.next()) {
        count++;
      }
      return count;
    }

    /** {@code waiting} is how many wait from this event on. */
    private boolean hasWaited(NumberedEvent each, long waiting) {
      if (program.waitMicros() == 0) {
        return program.waitEvents() == null || waiting >= program.waitEvents();
      }
      boolean timeless = each.since() == Marks.UNKNOWN;
      if (endsTimeless && (timeless || program.waitsByClock())) {
        return true;
      }
      return !timeless && reached > each.since() + program.waitMicros();
    }

    private Iterator<EntryMap.Entry> after(long number) {
      return number == Long.MAX_VALUE
          ? Collections.emptyIterator()
          : events.from(TimeCode.of(number + 1));
    }

    // States

    /** Folds what is new or has changed; returns whether there is a state to send. */
    boolean fold() {
      long failed = failures;
      boolean back = again <= folded;
      if (back) {
        goBackBefore(again);
      }
      boolean any = false;
      long left = EVERY - countSince();
      for (Iterator<EntryMap.Entry> next = after(folded); next.hasNext(); ) {
        EntryMap.Entry entry = next.next();
        long number = TimeCode.of(entry.key());
        if (number > givenUp && number != folded + 1) {
          break;
        }
        apply(NumberedEvent.of(number, entry.value()).row());
        folded = number;
        any = true;
        if (--left <= 0) {
          states.put(TimeCode.of(number), stateNow());
          left = EVERY;
        }
      }
      touched |= any | back;
      if (failures > failed) {
        context.counters().product(product, "expression_errors", failures - failed);
      }
      return exists && (any || back);
    }

    /** Roughly: numbers that are missing count, too. */
    private long countSince() {
      EntryMap.Entry kept = states.lastBelow(TimeCode.of(Long.MAX_VALUE));
      return Math.min(EVERY - 1, folded - (kept == null ? 0 : TimeCode.of(kept.key())));
    }

    private void goBackBefore(long number) {
      Slice place = TimeCode.of(number);
      for (EntryMap.Entry gone = states.atLeast(place); gone != null; gone = states.atLeast(place)) {
        states.remove(gone.key());
      }
      EntryMap.Entry kept = states.lastBelow(place);
      if (kept == null) {
        begin();
        return;
      }
      ByteReader in = new ByteReader(kept.value());
      folded = TimeCode.of(kept.key());
      failures = in.readVarLong();
      now = in.rest();
    }

    private Slice stateNow() {
      ByteWriter out = new ByteWriter(now.length() + 10);
      return Slice.of(out.writeVarLong(failures).writeRaw(now).toBytes());
    }

    private void apply(Slice row) {
      exists = true;
      BinaryRow.point(event, row);
      Assembler makes =
          event.isNullAt(program.eventKind()) ? null : when.get(event.getUTF8String(program.eventKind()));
      if (makes != null) {
        makes.assemble(now, BinaryRow.point(stateRow, now), new Object[] {event});
        failures += makes.failures();
        now = makes.row();
      }
    }

    void send(long timestamp, Outbox outbox) {
      touched = true;
      if (!exists) {
        last.sendGone(this::keyRow, timestamp, outbox);
        return;
      }
      last.send(SentDocument.Next.of(document(), 0), this::keyRow, timestamp, outbox);
    }

    private Slice document() {
      Object[] columns = Arrays.copyOf(address.decode(key), program.by() + state.length);
      BinaryRow.point(stateRow, now);
      for (int i = 0; i < state.length; i++) {
        columns[program.by() + i] = stateRow.isNullAt(i) ? null : stateRow.get(i, state[i]);
      }
      return BinaryRow.copy(document.apply(new GenericInternalRow(columns)));
    }

    private Slice keyRow() {
      return BinaryRow.copy(
          EventFold.this.key.apply(new GenericInternalRow(address.decode(key))));
    }
  }
}
