package dev.joinery.kernel.stream;

import dev.joinery.kernel.bytes.BinaryRow;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.Event;
import dev.joinery.kernel.message.EventLetter;
import dev.joinery.kernel.message.Marks;
import dev.joinery.kernel.message.Message;
import dev.joinery.kernel.message.Outbox;
import dev.joinery.kernel.node.LogWatermark;
import dev.joinery.kernel.node.Node;
import dev.joinery.kernel.node.NodeContext;
import dev.joinery.kernel.program.PairEventsProgram;
import dev.joinery.kernel.state.State;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.jdk.javaapi.CollectionConverters;

/**
 * A stream's pairs with the events of another log: remembers the events of both with one join
 * value by their times; sends a pair when the later of its two comes, and again when one of them is
 * told again.
 *
 * <p>A batch's events are put in place before any pair is sent, so each is sent once a batch.
 */
public final class PairEvents implements Node {
  private final PairEventsProgram program;
  private final LogWatermark watermark;
  private final UnsafeRow event;
  private final UnsafeRow added;
  private final UnsafeProjection pairKey;
  private final Side own;
  private final Side other;
  private final List<Onward> onward;

  public PairEvents(PairEventsProgram program, NodeContext context) {
    this.program = program;
    this.watermark = new LogWatermark(program.logs(), context);
    this.event = new UnsafeRow(program.event().length());
    this.added = new UnsafeRow(program.event().length());
    this.own = new Side(false, program.eventTime(), 0, program.other(), program.key());
    int first = program.first();
    this.other =
        new Side(
            true, program.otherTime(), first, program.event().length(), program.otherKey());
    StructField[] keys = program.key().fields();
    DataType[] types = Arrays.copyOf(typesOf(keys), keys.length + 1);
    types[keys.length] = program.otherKey();
    this.pairKey = UnsafeProjection.create(types);
    this.onward = program.onward().stream().map(each -> new Onward(each, context)).toList();
  }

  private static DataType[] typesOf(StructField[] fields) {
    return Arrays.stream(fields).map(StructField::dataType).toArray(DataType[]::new);
  }

  /** One of the two logs: where its columns stand, and how its events are told as dead letters. */
  private final class Side {
    final boolean isOther;
    final int time;
    final UnsafeProjection shown;
    final EventLetter letters;

    Side(boolean isOther, int time, int from, int to, StructType key) {
      StructField[] fields = program.event().fields();
      this.isOther = isOther;
      this.time = time;
      this.shown =
          UnsafeProjection.create(
              CollectionConverters.asScala(
                      IntStream.range(from, to)
                          .<Expression>mapToObj(
                              each -> new BoundReference(each, fields[each].dataType(), true))
                          .toList())
                  .toSeq());
      this.letters =
          new EventLetter(
              program.owner(), key, new StructType(Arrays.copyOfRange(fields, from, to)));
    }

    /** Why an event does not count, as a dead letter; null where it does. */
    byte[] letterOf(Event each, long horizon) {
      BinaryRow.point(event, each.row());
      if (event.isNullAt(time)) {
        return told(each, AsOf.NO_TIME, "Its time is null.");
      }
      return event.getLong(time) < horizon ? told(each, AsOf.TOO_LATE, Rolling.TOO_LATE) : null;
    }

    private byte[] told(Event each, String reason, String detail) {
      return letters.of(each.carrying(BinaryRow.copy(shown.apply(event))), reason, detail);
    }

    long timeOf(Event each) {
      return BinaryRow.point(event, each.row()).getLong(time);
    }
  }

  /** What came of one side: by identity the event, and the time of the one whose place it takes. */
  private static final class Arrived {
    final Map<Slice, PairMemory.Member> events = new HashMap<>();
    final Map<Slice, Long> former = new HashMap<>();
  }

  @Override
  public void handle(Slice key, List<byte[]> messages, State state, Outbox outbox) {
    long timestamp = Message.latest(messages);
    long horizon = watermark.before(program.retentionMicros());
    Arrived ours = new Arrived();
    Arrived theirs = new Arrived();
    for (byte[] message : messages) {
      if (Message.kind(message) != Message.EVENT) {
        throw Message.unexpected(message);
      }
      Event each = Event.read(message);
      boolean ofOther = !BinaryRow.point(event, each.row()).isNullAt(program.other());
      sort(each, ofOther ? other : own, ofOther ? theirs : ours, horizon, outbox);
    }
    boolean joins = key.isEmpty() || key.array()[key.offset()] != 0;
    if (!joins) {
      return;
    }
    PairMemory memory = PairMemory.read(program, state);
    forgetOver(memory, horizon);
    keep(ours, own, memory);
    keep(theirs, other, memory);
    for (PairMemory.Member each : ours.events.values()) {
      long from = each.time() + program.fromMicros();
      for (PairMemory.Member one :
          memory.between(true, from, each.time() + program.toMicros(), timestamp)) {
        send(each, one, ours, theirs, timestamp, outbox);
      }
    }
    for (PairMemory.Member one : theirs.events.values()) {
      long from = one.time() - program.toMicros();
      for (PairMemory.Member each :
          memory.between(false, from, one.time() - program.fromMicros(), timestamp)) {
        if (!ours.events.containsKey(each.event().key())) {
          send(each, one, ours, theirs, timestamp, outbox);
        }
      }
    }
    memory.write(timestamp, state);
  }

  @Override
  public void expire(Slice key, List<Slice> entries, long timestamp, State state) {
    if (state.read() == null) {
      return;
    }
    PairMemory memory = PairMemory.read(program, state);
    if (memory.isLookedAtAfter(timestamp)) {
      return;
    }
    forgetOver(memory, watermark.before(program.retentionMicros()));
    memory.lookAgain();
    memory.write(timestamp, state);
  }

  private static void forgetOver(PairMemory memory, long horizon) {
    if (horizon != Marks.UNKNOWN) {
      memory.forgetBefore(horizon);
    }
  }

  private void sort(Event each, Side side, Arrived arrived, long horizon, Outbox outbox) {
    byte[] letter = side.letterOf(each, horizon);
    if (letter != null) {
      outbox.emit(letter);
      return;
    }
    PairMemory.Member mine = new PairMemory.Member(side.timeOf(each), each);
    arrived.events.merge(
        each.key(), mine, (one, two) -> one.event().isLaterThan(two.event()) ? one : two);
  }

  private void keep(Arrived arrived, Side side, PairMemory memory) {
    for (PairMemory.Member each : arrived.events.values()) {
      Long former = memory.keep(side.isOther, each);
      if (former != null) {
        arrived.former.put(each.event().key(), former);
      }
    }
  }

  private void send(
      PairMemory.Member each,
      PairMemory.Member one,
      Arrived ours,
      Arrived theirs,
      long timestamp,
      Outbox outbox) {
    Long before = timeBefore(each, ours);
    Long otherBefore = timeBefore(one, theirs);
    boolean again = before != null && otherBefore != null && isNear(before, otherBefore);
    Event mine = each.event();
    Event pair =
        new Event(
            again,
            false,
            timestamp,
            Math.max(mine.version(), one.event().version()),
            mine.place(),
            keyOf(mine, one.event()),
            mine.row());
    Object[] inputs = addedBy(one.event());
    for (Onward next : onward) {
      next.send(pair, inputs, outbox);
    }
  }

  /** The time at which an event stood before the batch; null where it did not. */
  private static Long timeBefore(PairMemory.Member each, Arrived arrived) {
    Slice identity = each.event().key();
    if (arrived.events.containsKey(identity)) {
      return arrived.former.get(identity);
    }
    return each.time();
  }

  private boolean isNear(long time, long otherTime) {
    long apart = otherTime - time;
    return apart >= program.fromMicros() && apart <= program.toMicros();
  }

  private Slice keyOf(Event each, Event one) {
    int columns = program.key().length();
    UnsafeRow key = BinaryRow.of(each.key(), columns);
    Object[] parts = new Object[columns + 1];
    for (int i = 0; i < columns; i++) {
      parts[i] = key.isNullAt(i) ? null : key.get(i, program.key().fields()[i].dataType());
    }
    parts[columns] = BinaryRow.of(one.key(), program.otherKey().length());
    return BinaryRow.copy(pairKey.apply(new GenericInternalRow(parts)));
  }

  private Object[] addedBy(Event one) {
    BinaryRow.point(added, one.row());
    int first = program.first();
    Object[] values = new Object[program.event().length() - first];
    for (int i = 0; i < values.length; i++) {
      DataType type = program.event().fields()[first + i].dataType();
      values[i] = added.isNullAt(first + i) ? null : added.get(first + i, type);
    }
    return values;
  }
}
