package dev.joinery.kernel;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;

/**
 * A stream's lookup of the row that was valid at the event's time: remembers, for a share of a
 * table's keys, the versions of their rows that an event may still meet, the table's newest time,
 * and the events whose answer is
 * not final yet; sends each event on with what it met.
 *
 * <p>A version is a row from its time on, until the next of its key. An answer is final once the
 * table's watermark is past the event's time: every address hears of it, whichever keys changed. So
 * what an event meets in the end does not depend on how the logs were cut into batches.
 */
final class AsOf implements Node {
  static final String NO_TIME = "event_without_time";
  static final String TOO_LATE = "event_too_late";

  private final Program.AsOfProgram program;
  private final Counters counters;
  private final RelationRows rows;
  private final TableFields fields;
  private final KeyCodec on;
  private final KeyCodec table;
  private final UnsafeRow event;
  private final UnsafeRow decoded;
  private final UnsafeRow visible;
  private final List<Onward> onward;
  private final EventLetter letters;
  private final long farthest;
  private final String noTime;
  private final String tooLate;
  private final String noRow;

  AsOf(Program.AsOfProgram program, Workshop workshop) {
    Program.RelationProgram relation = workshop.program().relations().get(program.relation());
    this.program = program;
    this.counters = workshop.counters();
    this.rows = workshop.rows(program.relation());
    this.fields =
        new TableFields(program.fields(), rows.visibleColumns(), program.owner(), workshop);
    this.on = Upward.codec(program.on(), Workshop.slotsOf(program.event()));
    this.table = Upward.codec(program.table(), relation.columns());
    this.event = new UnsafeRow(program.event().length());
    this.decoded = new UnsafeRow(relation.columns().size());
    this.visible = new UnsafeRow(rows.visibleColumns());
    this.onward = program.onward().stream().map(each -> new Onward(each, workshop)).toList();
    this.letters = new EventLetter(program.owner(), program.key(), program.event());
    String column = program.event().fields()[program.eventTime()].name();
    this.farthest =
        program.historyMicros() < 0 ? -1 : program.maxDelayMicros() + program.historyMicros();
    this.noTime = "Its column " + column + " is null.";
    this.tooLate = "It is further behind " + rows.name() + " than its versions are kept.";
    this.noRow = "No row of " + rows.name() + " was valid at its time.";
  }

  /** What one call works with. */
  private final class Work {
    final AsOfMemory memory;
    final State state;
    final Outbox outbox;
    final long timestamp;
    final Map<Slice, Versions> versions = new HashMap<>();
    final Set<Slice> changed = new HashSet<>();
    final Set<Slice> atHand = new HashSet<>();
    boolean idle;
    boolean stirred;

    Work(State state, Outbox outbox, long timestamp) {
      this.memory = AsOfMemory.read(state);
      this.state = state;
      this.outbox = outbox;
      this.timestamp = timestamp;
    }

    boolean isFinal(long time) {
      return idle || memory.isPast(time, program.maxDelayMicros());
    }

    Versions versionsOf(Slice key) {
      return versions.computeIfAbsent(key, memory::versions);
    }

    TableFields.Answer answer(Slice key, long time) {
      Slice row = versionsOf(key).at(time);
      return row == null ? fields.none() : fields.over(rows.view(row));
    }
  }

  @Override
  public void handle(Slice bucket, List<byte[]> messages, State state, Outbox outbox) {
    Work work = new Work(state, outbox, Message.latest(messages));
    Map<Slice, List<RawChange>> changes = new LinkedHashMap<>();
    List<Event> events = new ArrayList<>();
    long newest = Long.MIN_VALUE;
    boolean told = false;
    for (byte[] message : messages) {
      switch (Message.kind(message)) {
        case Message.RAW -> {
          RawChange change = RawChange.read(message);
          byte[] key = table.encode(Row.point(decoded, change.row()));
          changes.computeIfAbsent(Slice.of(key), each -> new ArrayList<>(2)).add(change);
        }
        case Message.WATERMARK -> {
          told = true;
          newest = Math.max(newest, Message.body(message).readLong());
        }
        case Message.FORGET -> work.memory.close(Message.body(message).rest());
        default -> events.add(Event.read(message));
      }
    }
    apply(changes, work);
    work.stirred = told || !changes.isEmpty();
    work.memory.hear(newest, work.stirred, work.timestamp);
    work.idle = work.memory.isIdle(work.timestamp, program.idleMicros());
    events.forEach(each -> arrive(each, work));
    finish(work);
  }

  @Override
  public void wake(long timestamp, State state, Outbox outbox) {
    Work work = new Work(state, outbox, timestamp);
    work.idle = work.memory.isIdle(timestamp, program.idleMicros());
    finish(work);
  }

  private void finish(Work work) {
    settle(work);
    work.memory.wakeIfIdle(program.idleMicros(), work.state);
    work.memory.write(work.state);
  }

  // The table's rows

  private void apply(Map<Slice, List<RawChange>> changes, Work work) {
    for (Slice key : work.memory.inPageOrder(changes.keySet())) {
      List<RawChange> ofKey = changes.get(key);
      Collections.sort(ofKey);
      Versions versions = work.versionsOf(key);
      boolean changed = false;
      for (RawChange change : ofKey) {
        changed |= apply(change, versions, work);
      }
      if (changed) {
        if (farthest >= 0) {
          versions.forgetBefore(work.memory.before(farthest));
        }
        work.changed.add(key);
        work.memory.put(key, versions);
      }
    }
  }

  private boolean apply(RawChange change, Versions versions, Work work) {
    if (change.op() != Message.OP_UPSERT) {
      count(change, "ignored_deletes");
      return false;
    }
    Row.point(visible, rows.derived(change.row()));
    if (visible.isNullAt(program.validFrom())) {
      count(change, "versions_without_time");
      return false;
    }
    long since = visible.getLong(program.validFrom());
    if (work.memory.isPast(since, program.maxDelayMicros())) {
      count(change, "late_versions");
    }
    Slice merged = rows.merged(versions.at(since), change);
    return versions.put(since, change.positioned() ? change.position() : 0, merged);
  }

  private void count(RawChange change, String counter) {
    if (change.isPrimary()) {
      counters.relation(rows.name(), counter, 1);
    }
  }

  // Events

  private void arrive(Event each, Work work) {
    work.memory.close(each.key());
    Row.point(event, each.row());
    if (event.isNullAt(program.eventTime())) {
      work.outbox.emit(letters.of(each, NO_TIME, noTime));
      return;
    }
    long time = event.getLong(program.eventTime());
    if (farthest >= 0 && work.memory.isPast(time, farthest)) {
      work.outbox.emit(letters.of(each, TOO_LATE, tooLate));
      return;
    }
    boolean joins = !on.anyNull(event);
    Slice key = Slice.of(on.encode(event));
    if (!joins || work.isFinal(time)) {
      answer(each, joins ? work.answer(key, time) : fields.none(), work);
      work.atHand.add(each.key());
    } else if (program.corrects()) {
      TableFields.Answer now = work.answer(key, time);
      work.memory.open(each, key, time, now);
      sendOn(each, now, work);
      work.atHand.add(each.key());
    } else {
      work.memory.open(each, key, time, null);
    }
  }

  /** Sends an event with its last answer. */
  private void answer(Event each, TableFields.Answer met, Work work) {
    if (!met.found()) {
      counters.product(program.owner(), "lookup_misses", 1);
      if (program.miss() == Program.Miss.DROP) {
        counters.product(program.owner(), "events_dropped", 1);
        return;
      }
      if (program.miss() == Program.Miss.DEAD_LETTER) {
        work.outbox.emit(letters.of(each, Enrich.REASON, noRow));
        return;
      }
    }
    sendOn(each, met, work);
  }

  private void sendOn(Event each, TableFields.Answer met, Work work) {
    for (Onward next : onward) {
      next.send(each, met.values(), work.outbox);
    }
  }

  /** Answers the open events that are final now, and corrects those whose answer is another. */
  private void settle(Work work) {
    if (!work.stirred && !work.idle) {
      return;
    }
    for (AsOfMemory.Open each : work.memory.openEvents(work.timestamp)) {
      boolean isFinal = work.isFinal(each.time());
      if (each.sent()) {
        correct(each, isFinal, work);
      } else if (isFinal) {
        answer(each.event(), work.answer(each.key(), each.time()), work);
      }
      if (isFinal) {
        work.memory.close(each.event().key());
      }
    }
  }

  private void correct(AsOfMemory.Open each, boolean isFinal, Work work) {
    if (!work.changed.contains(each.key()) || work.atHand.contains(each.event().key())) {
      return;
    }
    TableFields.Answer now = work.answer(each.key(), each.time());
    if (now.hash() == each.hash()) {
      return;
    }
    counters.product(program.owner(), "corrections", 1);
    long version = work.memory.nextVersion(work.timestamp);
    sendOn(each.event().corrected(work.timestamp, version), now, work);
    if (!isFinal) {
      work.memory.open(each.event(), each.key(), each.time(), now);
    }
  }
}
