package dev.joinery.kernel.stream;

import dev.joinery.kernel.bytes.BinaryRow;
import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.Counters;
import dev.joinery.kernel.message.Event;
import dev.joinery.kernel.message.EventLetter;
import dev.joinery.kernel.message.Marks;
import dev.joinery.kernel.message.Message;
import dev.joinery.kernel.message.Outbox;
import dev.joinery.kernel.node.Aggregates;
import dev.joinery.kernel.node.Node;
import dev.joinery.kernel.node.LogWatermark;
import dev.joinery.kernel.node.NodeContext;
import dev.joinery.kernel.program.Program;
import dev.joinery.kernel.program.StreamProgram;
import dev.joinery.kernel.state.State;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataType;

/**
 * A stream's columns over the events of one key in the time up to each: remembers the key's events
 * by their times; sends each on when it comes, and again when a late one alters its values.
 *
 * <p>A batch's events are put in place before any is answered. Only what sees a time that came or
 * went is looked at again: the events from there on, as far as the columns look back. Each is added
 * once and taken back once; what an aggregate must know singly, such as the least value, stands in
 * order in memory meanwhile.
 */
public final class Rolling implements Node {
  private static final String INSTANCE_LIMIT = "instance_limit";
  static final String TOO_LATE = "It is too far below the watermark to count.";

  private final StreamProgram.RollingProgram program;
  private final Counters counters;
  private final Aggregates aggregates;
  private final DataType[] inputs;
  private final TableFields values;
  private final LogWatermark watermark;
  private final EventOrder order;
  private final UnsafeRow event;
  private final List<Onward> onward;
  private final EventLetter letters;
  private final String noTime;

  public Rolling(int node, StreamProgram.RollingProgram program, NodeContext context) {
    int columns = program.event().length();
    this.program = program;
    this.counters = context.counters();
    this.aggregates = context.aggregates(node, 0);
    this.inputs =
        program.aggregates().stream()
            .map(Program.AggregateProgram::type)
            .toArray(DataType[]::new);
    this.values = new TableFields(program.values(), columns, program.owner(), context);
    this.watermark = new LogWatermark(program.logs(), context);
    this.order = new EventOrder(program.key());
    this.event = new UnsafeRow(columns);
    this.onward = program.onward().stream().map(each -> new Onward(each, context)).toList();
    this.letters = new EventLetter(program.owner(), program.key(), program.event());
    this.noTime = "Its column " + program.event().fields()[program.eventTime()].name() + " is null.";
  }

  /** What one call works with. */
  private final class Work {
    final RollingMemory memory;
    final Outbox outbox;
    final long timestamp;

    /** Below it nothing changes any more. */
    final long horizon = watermark.before(program.retentionMicros());

    /** The events of this batch, by identity. */
    final Map<Slice, Event> arrived = new HashMap<>();

    final TreeSet<Long> changed = new TreeSet<>();
    long version;

    Work(RollingMemory memory, Outbox outbox, long timestamp) {
      this.memory = memory;
      this.outbox = outbox;
      this.timestamp = timestamp;
    }

    long correctedVersion() {
      version = version == 0 ? memory.nextVersion(timestamp) : version;
      return version;
    }
  }

  @Override
  public void handle(Slice key, List<byte[]> messages, State state, Outbox outbox) {
    long timestamp = Message.latest(messages);
    Work work = new Work(RollingMemory.read(program, state), outbox, timestamp);
    forgetOver(work.memory, work.horizon);
    List<Event> passing = new ArrayList<>();
    for (byte[] message : messages) {
      switch (Message.kind(message)) {
        case Message.FORGET -> {
          ByteReader in = Message.body(message);
          remove(in.readLong(), in.rest(), work);
        }
        case Message.EVENT -> sort(Event.read(message), passing, work);
        default -> throw Message.unexpected(message);
      }
    }
    work.arrived.values().forEach(each -> put(each, work));
    answerChanged(work);
    for (Event each : passing) {
      if (mayCount(each, work)) {
        pass(each, work);
      }
    }
    work.memory.write(timestamp, state);
  }

  @Override
  public void expire(Slice key, List<Slice> entries, long timestamp, State state) {
    if (state.read() == null) {
      return;
    }
    RollingMemory memory = RollingMemory.read(program, state);
    if (memory.isLookedAtAfter(timestamp)) {
      return;
    }
    forgetOver(memory, watermark.before(program.retentionMicros()));
    memory.lookAgain();
    memory.write(timestamp, state);
  }

  /** Forgets what no event sees any more that still counts. */
  private void forgetOver(RollingMemory memory, long horizon) {
    if (horizon != Marks.UNKNOWN) {
      memory.forgetBefore(horizon - program.overMicros() + 1);
    }
  }

  // What came

  private void sort(Event each, List<Event> passing, Work work) {
    if (each.passing()) {
      passing.add(each);
      return;
    }
    work.arrived.merge(
        each.key(),
        each,
        (one, other) -> {
          boolean first = one.isLaterThan(other);
          passing.add(first ? other : one);
          return first ? one : other;
        });
  }

  private void remove(long time, Slice identity, Work work) {
    if (work.memory.remove(time, identity)) {
      work.changed.add(time);
    }
  }

  private void put(Event each, Work work) {
    if (mayCount(each, work)) {
      long time = timeOf(each);
      work.memory.keep(new RollingMemory.Member(time, each, 0));
      work.changed.add(time);
    }
  }

  private boolean mayCount(Event each, Work work) {
    BinaryRow.point(event, each.row());
    if (event.isNullAt(program.eventTime())) {
      work.outbox.emit(letters.of(each, AsOf.NO_TIME, noTime));
      return false;
    }
    if (event.getLong(program.eventTime()) < work.horizon) {
      work.outbox.emit(letters.of(each, AsOf.TOO_LATE, TOO_LATE));
      return false;
    }
    return true;
  }

  private long timeOf(Event each) {
    return BinaryRow.point(event, each.row()).getLong(program.eventTime());
  }

  // What is sent

  /** Answers all that sees a time at which an event came or went, run by run. */
  private void answerChanged(Work work) {
    Long from = work.changed.isEmpty() ? null : work.changed.first();
    while (from != null) {
      long to = from + program.overMicros();
      Long next = work.changed.higher(from);
      while (next != null && next < to) {
        to = next + program.overMicros();
        next = work.changed.higher(next);
      }
      answer(from, to, work);
      from = next;
    }
  }

  /** Answers the events of times from one on and before another. */
  private void answer(long from, long to, Work work) {
    List<RollingMemory.Member> seen =
        work.memory.between(from - program.overMicros() + 1, to, work.timestamp);
    long first = Math.max(from, work.horizon);
    int left = 0;
    int right = 0;
    aggregates.begin();
    for (RollingMemory.Member each : seen) {
      if (each.time() < first) {
        continue;
      }
      while (right < seen.size() && seen.get(right).time() <= each.time()) {
        add(seen.get(right++).event());
      }
      while (seen.get(left).time() <= each.time() - program.overMicros()) {
        remove(seen.get(left++).event());
      }
      send(each, work);
    }
    countFailures(aggregates.failures());
  }

  private void add(Event each) {
    aggregates.add(BinaryRow.point(event, each.row()), order.of(each.key()));
  }

  private void remove(Event each) {
    if (aggregates.remove(BinaryRow.point(event, each.row()), order.of(each.key()))) {
      throw new IllegalStateException("an aggregate that does not keep what it has to take back");
    }
  }

  private void send(RollingMemory.Member each, Work work) {
    TableFields.Answer now = answerTo(each.event());
    Event came = work.arrived.get(each.event().key());
    if (came != null) {
      tellLimit(came, work);
      sendOn(came, now, work);
    } else if (now.hash() != each.hash()) {
      counters.product(program.owner(), "corrections", 1);
      Event corrected = each.event().corrected(work.timestamp, work.correctedVersion());
      tellLimit(corrected, work);
      sendOn(corrected, now, work);
    }
    if (came != null || now.hash() != each.hash()) {
      Event kept = came == null ? each.event() : came;
      work.memory.keep(new RollingMemory.Member(each.time(), kept, now.hash()));
    }
  }

  /** Answers an event that a newer one of its identity follows: it sees itself instead of that. */
  private void pass(Event each, Work work) {
    long time = timeOf(each);
    aggregates.begin();
    work.memory.between(time - program.overMicros() + 1, time + 1, work.timestamp).stream()
        .filter(one -> !one.event().key().equals(each.key()))
        .forEach(one -> add(one.event()));
    add(each);
    TableFields.Answer now = answerTo(each);
    tellLimit(each, work);
    sendOn(each, now, work);
    countFailures(aggregates.failures());
  }

  private TableFields.Answer answerTo(Event each) {
    Object[] given = new Object[inputs.length + 1];
    UnsafeRow results = BinaryRow.of(aggregates.result(), inputs.length);
    countFailures(aggregates.overflows());
    for (int i = 0; i < inputs.length; i++) {
      given[i] = results.isNullAt(i) ? null : results.get(i, inputs[i]);
    }
    given[inputs.length] = program.overMicros() / 1e6;
    return values.over(each.row(), given);
  }

  /** Tells that a value of an event is null for the many different ones that it would count. */
  private void tellLimit(Event each, Work work) {
    if (aggregates.exceeded() > 0) {
      counters.product(program.owner(), INSTANCE_LIMIT, 1);
      String detail =
          "A value counts more than " + aggregates.exceeded() + " different ones, and is null.";
      work.outbox.emit(letters.of(each, INSTANCE_LIMIT, detail));
    }
  }

  private void countFailures(int failures) {
    if (failures > 0) {
      counters.product(program.owner(), "expression_errors", failures);
    }
  }

  private void sendOn(Event each, TableFields.Answer met, Work work) {
    for (Onward next : onward) {
      next.send(each, met.values(), work.outbox);
    }
  }
}
