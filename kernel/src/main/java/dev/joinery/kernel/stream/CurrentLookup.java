package dev.joinery.kernel.stream;

import dev.joinery.kernel.bytes.BinaryRow;
import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.Counters;
import dev.joinery.kernel.message.Event;
import dev.joinery.kernel.message.EventLetter;
import dev.joinery.kernel.message.Message;
import dev.joinery.kernel.message.Outbox;
import dev.joinery.kernel.message.RawChange;
import dev.joinery.kernel.node.Assembler;
import dev.joinery.kernel.node.Node;
import dev.joinery.kernel.node.NodeContext;
import dev.joinery.kernel.node.RelationRows;
import dev.joinery.kernel.node.RowCell;
import dev.joinery.kernel.program.StreamProgram;
import dev.joinery.kernel.state.State;
import dev.joinery.kernel.state.TimedMap;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;

/**
 * A stream's lookup of the current row: remembers, under a table's key, the row, the events that
 * wait for it and those that are sent again when it changes; sends each event on with what it met.
 *
 * <p>A batch's changes of the row come before its events. Where nothing waits and nothing is sent
 * again, the state is the row's cell alone.
 */
public final class CurrentLookup implements Node {
  static final String REASON = "lookup_miss";

  /** How many remembered events are gone through before what was sent for them is taken. */
  private static final int AT_ONCE = 4096;

  private final StreamProgram.CurrentLookupProgram program;
  private final Counters counters;
  private final RelationRows rows;
  private final TableFields fields;
  private final Assembler where;
  private final UnsafeRow event;
  private final List<Onward> onward;
  private final EventLetter letters;
  private final String detail;

  public CurrentLookup(StreamProgram.CurrentLookupProgram program, NodeContext context) {
    this.program = program;
    this.counters = context.counters();
    this.rows = context.rows(program.relation());
    this.fields =
        new TableFields(program.fields(), rows.visibleColumns(), program.owner(), context);
    this.where = program.where() < 0 ? null : context.assembler(program.where());
    this.event = new UnsafeRow(program.event().length());
    this.onward = program.onward().stream().map(each -> new Onward(each, context)).toList();
    this.letters =
        new EventLetter(program.owner(), program.key(), program.event(), program.hidden());
    this.detail = "There is no row of " + rows.name() + " for it.";
  }

  @Override
  public void handle(Slice key, List<byte[]> messages, State state, Outbox outbox) {
    long timestamp = Message.latest(messages);
    List<RawChange> changes = new ArrayList<>();
    List<Event> events = new ArrayList<>(messages.size());
    List<Slice> gone = new ArrayList<>();
    for (byte[] message : messages) {
      switch (Message.kind(message)) {
        case Message.RAW -> changes.add(RawChange.read(message));
        case Message.FORGET -> {
          ByteReader in = Message.body(message);
          in.readLong();
          gone.add(in.rest());
        }
        case Message.EVENT -> events.add(Event.read(message));
        default -> throw Message.unexpected(message);
      }
    }
    CurrentLookupMemory memory = CurrentLookupMemory.read(program, state);
    for (Slice each : gone) {
      if (memory.forget(each)) {
        counters.product(program.owner(), "superseded", 1);
      }
    }
    TableFields.Answer before = program.remembers() ? answer(memory.cell()) : null;
    if (!changes.isEmpty() && rows.apply(memory.cell(), changes, timestamp, outbox)) {
      memory.touch();
      if (!memory.cell().exists) {
        rows.expireLater(memory.cell(), Slice.EMPTY, state);
      }
    }
    if (events.isEmpty() && !program.remembers()) {
      memory.write(state);
      return;
    }
    TableFields.Answer after = answer(memory.cell());
    boolean joins = key.isEmpty() || key.array()[key.offset()] != 0;
    Set<Slice> atHand = program.keepsRecent() ? new HashSet<>() : null;
    for (Event each : memory.inPageOrder(events)) {
      meet(each, after, joins, memory, state, outbox);
      if (atHand != null && !each.passing()) {
        atHand.add(each.key());
      }
    }
    if (!program.remembers()) {
      memory.write(state);
      return;
    }
    boolean more = after.found() && release(memory, after, state, timestamp, atHand, outbox);
    Again again = new Again(after, timestamp, state, outbox, atHand);
    if (!changes.isEmpty() && program.everyMicros() == 0) {
      again.begin(memory, before);
    }
    memory.write(state);
    again.goOn();
    if (more) {
      outbox.repeat(() -> releaseMore(after, state, timestamp, outbox));
    }
  }

  @Override
  public void wake(Slice key, long timestamp, State state, Outbox outbox) {
    CurrentLookupMemory memory = CurrentLookupMemory.read(program, state);
    TableFields.Answer answer = answer(memory.cell());
    boolean more = giveUp(memory, state, timestamp, outbox);
    Again again = new Again(answer, timestamp, state, outbox, Set.of());
    if (memory.isDue(timestamp)) {
      again.begin(memory, answer);
    }
    if (!again.more) {
      memory.forget(timestamp, state);
    }
    memory.write(state);
    again.goOn();
    if (more) {
      outbox.repeat(() -> giveUpMore(state, timestamp, outbox));
    }
  }

  /** Forgets that the row was deleted. */
  @Override
  public void expire(Slice key, List<Slice> entries, long timestamp, State state) {
    if (state.read() == null) {
      return;
    }
    CurrentLookupMemory memory = CurrentLookupMemory.read(program, state);
    if (rows.isOver(memory.cell(), timestamp, Slice.EMPTY, state)) {
      memory.touch();
      memory.write(state);
    }
  }

  private TableFields.Answer answer(RowCell cell) {
    return fields.over(rows.view(cell));
  }

  private void meet(
      Event each,
      TableFields.Answer answer,
      boolean joins,
      CurrentLookupMemory memory,
      State state,
      Outbox outbox) {
    boolean kept =
        program.keepsRecent() && joins && (answer.found() || program.miss() == StreamProgram.Miss.NULL);
    boolean remembered = program.remembers() && !each.passing();
    if (remembered && memory.replace(each, kept)) {
      counters.product(program.owner(), "superseded", 1);
    }
    if (answer.found()) {
      send(each, each.timestamp(), answer, memory, state, outbox);
      return;
    }
    counters.product(program.owner(), "lookup_misses", 1);
    if (program.miss() == StreamProgram.Miss.WAIT && joins && each.passing()) {
      counters.product(program.owner(), "superseded", 1);
    } else if (program.miss() == StreamProgram.Miss.WAIT && joins) {
      memory.park(each, state);
    } else if (program.miss() == StreamProgram.Miss.DROP) {
      counters.product(program.owner(), "events_dropped", 1);
    } else if (program.miss() == StreamProgram.Miss.DEAD_LETTER) {
      outbox.emit(letters.of(each, REASON, detail));
    } else if (joins) {
      send(each, each.timestamp(), answer, memory, state, outbox);
    } else {
      sendOn(each, answer, outbox);
    }
  }

  /** Sends an event on, and remembers it where it may be sent again, its time counted from then. */
  private void send(
      Event each,
      long since,
      TableFields.Answer met,
      CurrentLookupMemory memory,
      State state,
      Outbox outbox) {
    sendOn(each, met, outbox);
    if (program.keepsRecent() && !each.passing()) {
      memory.keep(each, since, met.hash(), state);
    }
  }

  private void sendOn(Event each, TableFields.Answer met, Outbox outbox) {
    for (Onward next : onward) {
      next.send(each, met.values(), outbox);
    }
  }

  /** Lets go of events that waited for the row; returns whether more do. */
  private boolean release(
      CurrentLookupMemory memory,
      TableFields.Answer answer,
      State state,
      long timestamp,
      Set<Slice> atHand,
      Outbox outbox) {
    List<CurrentLookupMemory.Waited> released = memory.release(AT_ONCE, timestamp);
    for (CurrentLookupMemory.Waited each : released) {
      send(each.event(), each.until(), answer, memory, state, outbox);
      if (atHand != null) {
        atHand.add(each.event().key());
      }
    }
    return released.size() >= AT_ONCE;
  }

  private boolean releaseMore(
      TableFields.Answer answer, State state, long timestamp, Outbox outbox) {
    CurrentLookupMemory memory = CurrentLookupMemory.read(program, state);
    boolean more = release(memory, answer, state, timestamp, null, outbox);
    memory.write(state);
    return more;
  }

  /** Sends events that waited long enough without a row; returns whether more did. */
  private boolean giveUp(CurrentLookupMemory memory, State state, long timestamp, Outbox outbox) {
    List<CurrentLookupMemory.Waited> over = memory.giveUp(AT_ONCE, timestamp);
    for (CurrentLookupMemory.Waited each : over) {
      counters.product(program.owner(), "waits_over", 1);
      send(each.event(), each.until(), fields.none(), memory, state, outbox);
    }
    return over.size() >= AT_ONCE;
  }

  private boolean giveUpMore(State state, long timestamp, Outbox outbox) {
    CurrentLookupMemory memory = CurrentLookupMemory.read(program, state);
    boolean more = giveUp(memory, state, timestamp, outbox);
    memory.write(state);
    return more;
  }

  /** One pass over the remembered events that sends those again which met other fields. */
  private final class Again {
    private final TableFields.Answer after;
    private final long timestamp;
    private final State state;
    private final Outbox outbox;
    private final Set<Slice> atHand;
    private Iterator<Event> all = Collections.emptyIterator();
    private boolean more;
    private TimedMap.Timed next;
    private long version;

    /** {@code atHand} are the events that this batch sends anyway. */
    Again(
        TableFields.Answer after,
        long timestamp,
        State state,
        Outbox outbox,
        Set<Slice> atHand) {
      this.after = after;
      this.timestamp = timestamp;
      this.state = state;
      this.outbox = outbox;
      this.atHand = atHand;
    }

    void begin(CurrentLookupMemory memory, TableFields.Answer before) {
      boolean lasts = after.found() || program.miss().sends();
      if (!memory.hasRecent() || !lasts) {
        return;
      }
      if (program.tellsApart()) {
        version = memory.nextVersion(timestamp);
        more = part(memory);
      } else if (before.hash() != after.hash()) {
        // Every remembered event was last sent with what stood before this batch.
        all = memory.recentLater(timestamp, memory.nextVersion(timestamp));
      }
    }

    /** Once the memory has been written, the rest follows while what was sent is taken. */
    void goOn() {
      if (more) {
        outbox.repeat(this::nextPart);
      }
      if (all.hasNext()) {
        outbox.repeat(
            () -> {
              send(all.next());
              return all.hasNext();
            });
      }
    }

    private boolean nextPart() {
      CurrentLookupMemory memory = CurrentLookupMemory.read(program, state);
      boolean left = part(memory);
      if (!left && memory.isDue(timestamp)) {
        memory.forget(timestamp, state); // Not before: all are compared once more.
      }
      memory.write(state);
      return left;
    }

    private boolean part(CurrentLookupMemory memory) {
      CurrentLookupMemory.Part part =
          memory.recentOtherThan(after.hash(), next, AT_ONCE, timestamp);
      for (TimedMap.Timed each : part.events()) {
        Event found = CurrentLookupMemory.eventOf(each, timestamp).corrected(timestamp, version);
        if (!atHand.contains(found.key()) && isWanted(found)) {
          memory.sent(each, after.hash());
          send(found);
        }
      }
      next = part.next();
      return next != null;
    }

    private void send(Event each) {
      if (!atHand.contains(each.key())) {
        counters.product(program.owner(), "corrections", 1);
        sendOn(each, after, outbox);
      }
    }

    private boolean isWanted(Event each) {
      return where == null
          || where.assemble(each.row(), BinaryRow.point(event, each.row()), after.values());
    }
  }
}
