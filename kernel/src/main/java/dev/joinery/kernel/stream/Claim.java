package dev.joinery.kernel.stream;

import dev.joinery.kernel.bytes.BinaryRow;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.Event;
import dev.joinery.kernel.message.Marks;
import dev.joinery.kernel.message.Message;
import dev.joinery.kernel.message.Outbox;
import dev.joinery.kernel.node.Node;
import dev.joinery.kernel.node.LogWatermark;
import dev.joinery.kernel.node.NodeContext;
import dev.joinery.kernel.program.StreamProgram;
import dev.joinery.kernel.state.State;
import dev.joinery.kernel.state.TimedMap;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.LongSupplier;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;

/**
 * Stands before a node that remembers events: remembers, for a share of the events' identities,
 * under which address the node remembers each; passes events on, and tells an address to forget
 * an event that came again under another one.
 *
 * <p>Of one identity the last of a batch in the log may be remembered, so it is remembered once;
 * those before it go on as {@link Event#passing}.
 */
public final class Claim implements Node {
  private final StreamProgram.ClaimProgram program;
  private final JoinAddress address;
  private final UnsafeRow event;

  /** What the watermark says that the node behind has forgotten; null where its clock does. */
  private final LongSupplier forgotten;

  public Claim(StreamProgram.ClaimProgram program, NodeContext context) {
    this.program = program;
    this.address =
        new JoinAddress(context.program(), program.target(), program.on(), program.event());
    this.event = new UnsafeRow(program.event().length());
    this.forgotten = forgotten(program, context);
  }

  private static LongSupplier forgotten(StreamProgram.ClaimProgram program, NodeContext context) {
    if (!(context.program().nodes().get(program.target()) instanceof StreamProgram.RollingProgram node)) {
      return null;
    }
    LogWatermark watermark = new LogWatermark(node.logs(), context);
    return () -> watermark.before(node.keepMicros() - 1);
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
    ClaimMemory memory = ClaimMemory.read(program, forgotten, state);
    Map<Slice, Told> last = new HashMap<>();
    List<Told> earlier = new ArrayList<>();
    Marks marks = new Marks();
    for (byte[] message : messages) {
      switch (Message.kind(message)) {
        case Message.WATERMARK -> marks.read(Message.body(message));
        case Message.EVENT -> {
          Told told = new Told(Event.read(message), message);
          last.merge(told.identity(), told, (one, other) -> later(one, other, earlier));
        }
        default -> throw Message.unexpected(message);
      }
    }
    if (program.isVersioned()) {
      memory.hear(marks, timestamp);
    }
    for (Told each : memory.inPageOrder(last.values(), Told::identity)) {
      pass(each, memory, timestamp, state, outbox);
    }
    for (Told each : earlier) {
      byte[] to = address.of(each.identity(), each.event().row());
      outbox.send(program.target(), to, Event.passing(each.message()));
    }
    if (program.isVersioned()) {
      // Not before: the lookup still remembers what this batch makes final.
      memory.forgetOver(timestamp);
    }
    memory.write(state);
  }

  @Override
  public void wake(Slice key, long timestamp, State state, Outbox outbox) {
    ClaimMemory memory = ClaimMemory.read(program, forgotten, state);
    memory.forget(timestamp, state);
    memory.write(state);
  }

  private static Told later(Told one, Told other, List<Told> earlier) {
    boolean first = one.event().isLaterThan(other.event());
    earlier.add(first ? other : one);
    return first ? one : other;
  }

  private void pass(Told told, ClaimMemory memory, long timestamp, State state, Outbox outbox) {
    Event each = told.event();
    byte[] to = address.of(each.key(), each.row());
    TimedMap.Timed claim = memory.claimOf(each.key());
    // A lookup of the current row finds by itself what comes again under the same address.
    if (claim != null && (program.isVersioned() || !claim.value().equals(Slice.of(to)))) {
      byte[] forget = Message.forget(timestamp, claim.time(), each.key());
      outbox.send(program.target(), claim.value().toBytes(), forget);
    }
    outbox.send(program.target(), to, told.message());
    if (mayBeRemembered(each, memory, timestamp)) {
      memory.put(each.key(), until(each), to, state);
    } else if (claim != null) {
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
    BinaryRow.point(event, each.row());
    return !event.isNullAt(program.eventTime())
        && !memory.isOver(event.getLong(program.eventTime()), timestamp);
  }

  private long until(Event each) {
    return program.isVersioned()
        ? BinaryRow.point(event, each.row()).getLong(program.eventTime())
        : each.timestamp() + program.keepMicros();
  }
}
