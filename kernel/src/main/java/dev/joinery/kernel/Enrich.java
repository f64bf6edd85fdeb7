package dev.joinery.kernel;

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
final class Enrich implements Node {
  static final String REASON = "lookup_miss";

  private final Program.EnrichProgram program;
  private final Counters counters;
  private final RelationRows rows;
  private final TableFields fields;
  private final Assembler where;
  private final UnsafeRow event;
  private final List<Onward> onward;
  private final EventLetter letters;
  private final String detail;

  Enrich(Program.EnrichProgram program, Workshop workshop) {
    this.program = program;
    this.counters = workshop.counters();
    this.rows = workshop.rows(program.relation());
    this.fields =
        new TableFields(program.fields(), rows.visibleColumns(), program.owner(), workshop);
    this.where = program.where() < 0 ? null : workshop.assembler(program.where());
    this.event = new UnsafeRow(program.event().length());
    this.onward = program.onward().stream().map(each -> new Onward(each, workshop)).toList();
    this.letters = new EventLetter(program.owner(), program.key(), program.event());
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
        case Message.FORGET -> gone.add(Message.body(message).rest());
        default -> events.add(Event.read(message));
      }
    }
    EnrichMemory memory = EnrichMemory.read(program, state);
    gone.forEach(memory::forget);
    TableFields.Answer before = program.remembers() ? answer(memory.cell()) : null;
    if (!changes.isEmpty() && rows.apply(memory.cell(), changes, timestamp, outbox)) {
      memory.touch();
    }
    if (events.isEmpty() && !program.remembers()) {
      memory.write(state);
      return;
    }
    TableFields.Answer after = answer(memory.cell());
    boolean joins = key.isEmpty() || key.array()[key.offset()] != 0;
    Set<Slice> atHand = program.keepsRecent() ? new HashSet<>() : null;
    for (Event each : events) {
      meet(each, after, joins, memory, state, outbox);
      if (atHand != null) {
        atHand.add(each.key());
      }
    }
    Iterator<Event> again = Collections.emptyIterator();
    if (program.remembers()) {
      if (after.found()) {
        release(memory, after, state, timestamp, atHand, outbox);
      }
      if (!changes.isEmpty() && program.everyMicros() == 0) {
        again = wanted(memory, before, after, timestamp, atHand);
      }
    }
    memory.write(state);
    sendAgain(again, after, atHand, outbox);
  }

  @Override
  public void wake(long timestamp, State state, Outbox outbox) {
    EnrichMemory memory = EnrichMemory.read(program, state);
    TableFields.Answer answer = answer(memory.cell());
    for (Event each : memory.giveUp(timestamp)) {
      counters.product(program.owner(), "waits_over", 1);
      send(each, fields.none(), memory, state, outbox);
    }
    Iterator<Event> again = Collections.emptyIterator();
    if (memory.isDue(timestamp)) {
      again = wanted(memory, answer, answer, timestamp, Set.of());
    }
    memory.forget(timestamp, state);
    memory.write(state);
    sendAgain(again, answer, Set.of(), outbox);
  }

  private TableFields.Answer answer(RowCell cell) {
    return fields.over(rows.view(cell));
  }

  private void meet(
      Event each,
      TableFields.Answer answer,
      boolean joins,
      EnrichMemory memory,
      State state,
      Outbox outbox) {
    boolean kept =
        program.keepsRecent() && joins && (answer.found() || program.miss() == Program.Miss.NULL);
    if (program.remembers()) {
      memory.replace(each, kept);
    }
    if (answer.found()) {
      send(each, answer, memory, state, outbox);
      return;
    }
    counters.product(program.owner(), "lookup_misses", 1);
    if (program.miss() == Program.Miss.WAIT && joins) {
      memory.park(each, state);
    } else if (program.miss() == Program.Miss.DROP) {
      counters.product(program.owner(), "events_dropped", 1);
    } else if (program.miss() == Program.Miss.DEAD_LETTER) {
      outbox.emit(letters.of(each, REASON, detail));
    } else if (joins) {
      send(each, answer, memory, state, outbox);
    } else {
      sendOn(each, answer, outbox);
    }
  }

  /** Sends an event on, and remembers it where it may be sent again. */
  private void send(
      Event each, TableFields.Answer met, EnrichMemory memory, State state, Outbox outbox) {
    sendOn(each, met, outbox);
    if (program.keepsRecent()) {
      memory.keep(each, met.hash(), state);
    }
  }

  private void sendOn(Event each, TableFields.Answer met, Outbox outbox) {
    for (Onward next : onward) {
      next.send(each, met.values(), outbox);
    }
  }

  /** Lets go of the events that waited for the row. */
  private void release(
      EnrichMemory memory,
      TableFields.Answer answer,
      State state,
      long timestamp,
      Set<Slice> atHand,
      Outbox outbox) {
    for (Event each : memory.release(timestamp)) {
      send(each, answer, memory, state, outbox);
      if (atHand != null) {
        atHand.add(each.key());
      }
    }
  }

  /**
   * The remembered events that met other fields, but for those at hand; read once the memory has
   * been written.
   */
  private Iterator<Event> wanted(
      EnrichMemory memory,
      TableFields.Answer before,
      TableFields.Answer after,
      long timestamp,
      Set<Slice> atHand) {
    boolean lasts = after.found() || program.miss().sends();
    if (!memory.hasRecent() || !lasts) {
      return Collections.emptyIterator();
    }
    if (!program.tellsApart()) {
      // Every remembered event was last sent with what stood before this batch.
      return before.hash() == after.hash()
          ? Collections.emptyIterator()
          : memory.recentLater(timestamp, memory.nextVersion(timestamp));
    }
    Iterator<Event> other =
        memory.recentOtherThan(after.hash(), timestamp, memory.nextVersion(timestamp));
    List<Event> wanted = new ArrayList<>();
    while (other.hasNext()) {
      Event each = other.next();
      if (!atHand.contains(each.key()) && isWanted(each, after)) {
        wanted.add(each);
      }
    }
    memory.sent(wanted, after.hash());
    return wanted.iterator();
  }

  private void sendAgain(
      Iterator<Event> events, TableFields.Answer answer, Set<Slice> atHand, Outbox outbox) {
    if (!events.hasNext()) {
      return;
    }
    outbox.later(
        new Iterator<>() {
          @Override
          public boolean hasNext() {
            return events.hasNext();
          }

          @Override
          public Runnable next() {
            Event each = events.next();
            return () -> {
              if (!atHand.contains(each.key())) {
                counters.product(program.owner(), "corrections", 1);
                sendOn(each, answer, outbox);
              }
            };
          }
        });
  }

  private boolean isWanted(Event each, TableFields.Answer answer) {
    return where == null
        || where.assemble(each.row(), Row.point(event, each.row()), answer.values());
  }
}
