package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.BinaryRow;
import dev.joinery.kernel.bytes.KeyCodec;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.Change;
import dev.joinery.kernel.message.EventTime;
import dev.joinery.kernel.message.Marks;
import dev.joinery.kernel.message.NumberedEvent;
import dev.joinery.kernel.message.Outbox;
import dev.joinery.kernel.program.EventFoldProgram;
import dev.joinery.kernel.program.Program;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;

/**
 * The way of a log's events to one {@link EventFold}: finds the state that an event is about and its
 * number, and tells the {@link Closing} before the node until when it may have to wait.
 *
 * <p>Of events that follow one another in number only the earliest tells: where one of them waits
 * no longer, those after it do not either. It remembers such runs for the time of a task, and any
 * that it forgets are told once more.
 */
public final class EventGate {
  /** The run of numbers that a task has sent last of a key: its end, and its earliest time. */
  private static final class Run {
    long last = Long.MIN_VALUE;
    long earliest;
  }

  /** When a wait is over that no watermark ends. */
  static final long NEVER = Long.MAX_VALUE / 2;

  private static final int MOST_RUNS = 100_000;
  private static final String WITHOUT_NUMBER = "event_without_sequence";
  private static final String WITHOUT_TIME = "event_without_time";

  private final int node;
  private final EventFoldProgram program;
  private final NodeContext context;
  private final String product;
  private final Assembler assembler;
  private final UnsafeRow visible;
  private final UnsafeRow input;
  private final KeyCodec by;
  private final Deadlines deadlines;
  private final Map<Slice, Run> runs = new HashMap<>();

  public EventGate(int node, NodeContext context) {
    this.node = node;
    this.program = (EventFoldProgram) context.program().nodes().get(node);
    this.context = context;
    this.product = context.program().products().get(program.product()).name();
    this.assembler = context.assembler(program.input());
    this.visible = new UnsafeRow(context.visible(program.relation()).size());
    StructType type = context.program().assemblers().get(program.input()).type();
    this.input = new UnsafeRow(type.length());
    this.by = codecOf(program, context.program());
    this.deadlines = Deadlines.before(node, context.program());
  }

  /** The code of a state's key, of which a null is a value like any other. */
  static KeyCodec codecOf(EventFoldProgram node, Program program) {
    StructType type = program.assemblers().get(node.input()).type();
    DataType[] types = new DataType[node.by()];
    for (int i = 0; i < types.length; i++) {
      types[i] = type.fields()[i].dataType();
    }
    return KeyCodec.of(types);
  }

  public int relation() {
    return program.relation();
  }

  /** Sends an event, given as products see it. */
  public void send(Change change, Slice row, long timestamp, Outbox outbox) {
    assembler.assemble(row, BinaryRow.point(visible, row), Assembler.NO_INPUTS);
    context.counters().productFailures(product, 0, assembler.failures());
    BinaryRow.point(input, assembler.row());
    long time = timeOf();
    if (input.isNullAt(program.by()) || input.getLong(program.by()) < 1) {
      context.counters().product(product, WITHOUT_NUMBER, 1);
      return;
    }
    long number = input.getLong(program.by());
    byte[] key = by.encode(input);
    NumberedEvent event = new NumberedEvent(number, time, change.major(), change.minor(), row);
    outbox.send(node, key, event.toMessage(timestamp));
    if (deadlines != null && isFirst(key, number, time)) {
      long at = time == Marks.UNKNOWN ? NEVER : time;
      deadlines.send(key, at, timestamp, outbox);
    }
  }

  private long timeOf() {
    if (!program.timed()) {
      return Marks.UNKNOWN;
    }
    if (EventTime.isIn(input, program.by() + 1)) {
      return input.getLong(program.by() + 1);
    }
    context.counters().product(product, WITHOUT_TIME, 1);
    return Marks.UNKNOWN;
  }

  /** Whether no event of the run that one belongs to was as early. */
  private boolean isFirst(byte[] key, long number, long time) {
    if (runs.size() >= MOST_RUNS) {
      runs.clear();
    }
    long told = time == Marks.UNKNOWN ? NEVER : time;
    Run run = runs.computeIfAbsent(Slice.of(key), each -> new Run());
    boolean follows = number == run.last + 1;
    run.last = number;
    if (follows && told >= run.earliest) {
      return false;
    }
    run.earliest = told;
    return true;
  }
}
