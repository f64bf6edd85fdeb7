package dev.joinery.kernel;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;

/**
 * Stands before a lookup that remembers events: remembers, for a share of the events' identities,
 * under which address the lookup remembers each; passes events on, and tells an address to forget
 * an event that was told again under another one.
 *
 * <p>Of one identity the last of a batch in the log goes on, so an event is remembered once.
 */
final class Claim implements Node {
  private final Program.ClaimProgram program;
  private final Counters counters;
  private final JoinAddress address;
  private final UnsafeRow event;

  Claim(Program.ClaimProgram program, Workshop workshop) {
    int buckets = workshop.program().bucketsOf(program.target());
    this.program = program;
    this.counters = workshop.counters();
    this.address = new JoinAddress(program.on(), program.event(), buckets);
    this.event = new UnsafeRow(program.event().length());
  }

  /** An event and the message that told it. */
  private record Told(Event event, byte[] message) {
    Slice identity() {
      return event.key();
    }
  }

  @Override
  public void handle(Slice bucket, List<byte[]> messages, State state, Outbox outbox) {
    long timestamp = Message.latest(messages);
    ClaimMemory memory = ClaimMemory.read(program, state);
    Map<Slice, Told> last = new HashMap<>();
    long newest = Long.MIN_VALUE;
    boolean stirred = false;
    for (byte[] message : messages) {
      if (Message.kind(message) == Message.WATERMARK) {
        stirred = true;
        newest = Math.max(newest, Message.body(message).readLong());
      } else {
        Told told = new Told(Event.read(message), message);
        last.merge(told.identity(), told, this::later);
      }
    }
    if (program.isVersioned()) {
      memory.hear(newest, stirred, timestamp);
    }
    for (Told each : memory.inPageOrder(last.values(), Told::identity)) {
      pass(each, memory, timestamp, state, outbox);
    }
    memory.write(state);
  }

  @Override
  public void wake(long timestamp, State state, Outbox outbox) {
    ClaimMemory memory = ClaimMemory.read(program, state);
    memory.forget(timestamp, state);
    memory.write(state);
  }

  private Told later(Told one, Told other) {
    counters.product(program.owner(), "superseded", 1);
    return one.event().isLaterThan(other.event()) ? one : other;
  }

  private void pass(Told told, ClaimMemory memory, long timestamp, State state, Outbox outbox) {
    Event each = told.event();
    byte[] to = address.of(each.key(), each.row());
    Slice from = memory.addressOf(each.key());
    if (from != null && !from.equals(Slice.of(to))) {
      outbox.send(program.target(), from.toBytes(), Message.forget(timestamp, each.key()));
    }
    outbox.send(program.target(), to, told.message());
    if (mayBeRemembered(each, memory, timestamp)) {
      memory.put(each.key(), until(each), to, state);
    } else if (from != null) {
      memory.remove(each.key());
    }
  }

  private boolean mayBeRemembered(Event each, ClaimMemory memory, long timestamp) {
    if (!address.joins(each.row())) {
      return false;
    }
    if (!program.isVersioned()) {
      return true;
    }
    Row.point(event, each.row());
    return !event.isNullAt(program.eventTime())
        && !memory.isOver(event.getLong(program.eventTime()), timestamp);
  }

  private long until(Event each) {
    return program.isVersioned()
        ? Row.point(event, each.row()).getLong(program.eventTime())
        : each.timestamp() + program.keepMicros();
  }
}
