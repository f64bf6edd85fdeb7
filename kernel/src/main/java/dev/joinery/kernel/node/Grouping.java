package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.BinaryRow;
import dev.joinery.kernel.bytes.KeyCodec;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.EventTime;
import dev.joinery.kernel.message.Outbox;
import dev.joinery.kernel.program.GroupProgram;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;

/**
 * The way of a relation's rows to the groups of one Group: finds the groups that a row is in, and
 * sends them what comes and what goes.
 *
 * <p>What is sent is what aggregates change by, so messages about several rows may overtake one
 * another.
 */
public final class Grouping implements RowWay {
  private final int node;
  private final GroupProgram program;
  private final NodeContext context;
  private final Assembler assembler;
  private final UnsafeRow visible;
  private final UnsafeRow input;
  private final KeyCodec by;
  private final GroupKey keys;
  private final Windows windows;
  private final Partials partials;
  private final Deadlines deadlines;
  private final Integer cuts;
  private final boolean needsPlace;
  private final String product;
  private final Lateness lateness;

  /** The column of a row, as products see it, that tells its time; -1 where none is asked for. */
  private final int timeColumn;

  public Grouping(int node, NodeContext context) {
    this.node = node;
    this.program = (GroupProgram) context.program().nodes().get(node);
    this.context = context;
    this.assembler = context.assembler(program.input());
    this.product = context.productOf(program.input());
    this.visible = new UnsafeRow(context.visible(program.relation()).size());
    StructType type = context.program().assemblers().get(program.input()).type();
    this.input = new UnsafeRow(type.length());
    DataType[] grouped = new DataType[program.by()];
    for (int i = 0; i < grouped.length; i++) {
      grouped[i] = type.fields()[i].dataType();
    }
    this.by = KeyCodec.of(grouped);
    this.keys = new GroupKey(program, type);
    // What is not a step of the assembler is a column of the row itself.
    int[] output = context.program().assemblers().get(program.input()).output();
    this.timeColumn = program.goesByTime() ? output[program.by()] : -1;
    this.windows = program.window() == null ? null : Windows.of(program.window());
    Aggregates aggregates = context.aggregates(node, 0);
    this.needsPlace = aggregates.needsPlace();
    this.partials = new Partials(keys, windows, program, aggregates);
    this.deadlines = Deadlines.before(node, context.program());
    this.cuts = Cuts.before(node, context.program());
    this.lateness =
        program.late() == null
            ? null
            : new Lateness(
                program.late(),
                visible.numFields(),
                product,
                context.counters(),
                deadlines == null ? Lateness.ALWAYS_OPEN : this::eachLifetime);
  }

  /** Tells of the windows of a time that wait; of sessions from when to when one may be. */
  private void eachLifetime(long time, Windows.Taking taking) {
    if (windows != null) {
      windows.holding(time, taking);
    } else if (program.session() != null) {
      long gap = program.session().gapMicros();
      taking.take(time - gap + 1, time + gap);
    }
  }

  @Override
  public int relation() {
    return program.relation();
  }

  @Override
  public String product() {
    return product;
  }

  @Override
  public boolean needsPlace() {
    return needsPlace;
  }

  @Override
  public GroupProgram.LateProgram late() {
    return program.late();
  }

  @Override
  public Lateness lateness() {
    return lateness;
  }

  /** A row as the groups see it, null where it does not exist for them. */
  private record Seen(Slice row, int failures, boolean timeless) {}

  @Override
  public boolean take(
      Slice before,
      Slice after,
      Slice place,
      long watermark,
      long timestamp,
      Outbox outbox) {
    Seen from = see(before);
    Seen to = see(after);
    count(from, to);
    Slice old = rowOf(from);
    Slice now = rowOf(to);
    if (old == null && now == null) {
      return false;
    }
    long forgotten =
        program.late() == null ? Long.MIN_VALUE : program.late().forgottenUpTo(watermark);
    boolean stays = old != null && old.equals(now);
    boolean counts =
        stays
            ? isOpen(now, forgotten)
            : add(old, false, place, forgotten) | add(now, true, place, forgotten);
    if (partials.isFull()) {
      sendTo(timestamp, outbox);
    }
    return !counts;
  }

  @Override
  public void sendTo(long timestamp, Outbox outbox) {
    partials.drain(
        timestamp,
        (group, last, told) -> send(group, told, last, timestamp, outbox));
  }

  /** Sends a message, and the times at which what it changes has to be looked at again. */
  private void send(byte[] group, byte[] message, long last, long timestamp, Outbox outbox) {
    outbox.send(node, group, message);
    if (deadlines == null) {
      return;
    }
    if (cuts != null) {
      Cuts.tell(cuts, group, message, timestamp, outbox);
    }
    if (program.session() != null) {
      deadlines.send(group, last + program.session().gapMicros(), timestamp, outbox);
    } else if (program.sliding() != null) {
      deadlines.send(group, last, timestamp, outbox);
      deadlines.send(group, last + program.sliding().sizeMicros(), timestamp, outbox);
    } else {
      deadlines.send(group, keys.endOf(group, windows), timestamp, outbox);
    }
  }

  private void count(Seen from, Seen to) {
    if (to == null) {
      return;
    }
    if (lateness == null && to.timeless()) {
      context.counters().product(product, Lateness.TIMELESS, 1);
    }
    context.counters().productFailures(product, from == null ? 0 : from.failures(), to.failures());
  }

  private Seen see(Slice row) {
    if (row == null) {
      return null;
    }
    BinaryRow.point(visible, row);
    boolean timeless = timeColumn >= 0 && !EventTime.isIn(visible, timeColumn);
    boolean exists = assembler.assemble(row, visible, Assembler.NO_INPUTS);
    return new Seen(exists ? assembler.row() : null, assembler.failures(), timeless);
  }

  private static Slice rowOf(Seen seen) {
    return seen == null || seen.timeless() ? null : seen.row();
  }

  /** Returns whether the row counts in any window that is not forgotten. */
  private boolean add(Slice row, boolean comes, Slice place, long forgotten) {
    if (row == null) {
      return false;
    }
    long time = timeOf(row);
    if (windows != null && time < forgotten) {
      return partials.addAbove(forgotten, by.encode(input), time, comes, input, place);
    }
    if (isForgotten(time, forgotten)) {
      return false;
    }
    partials.add(by.encode(input), time, comes, input, place);
    return true;
  }

  private boolean isOpen(Slice row, long forgotten) {
    long time = timeOf(row);
    if (windows == null) {
      return !isForgotten(time, forgotten);
    }
    boolean[] any = {time >= forgotten};
    windows.holding(time, (start, end) -> any[0] |= end > forgotten);
    return any[0];
  }

  /** Points at the row. */
  private long timeOf(Slice row) {
    BinaryRow.point(input, row);
    return program.goesByTime() ? input.getLong(program.by()) : 0;
  }

  /** Whether what a row of a time touches is forgotten, of sessions and where groups slide. */
  private boolean isForgotten(long time, long forgotten) {
    if (forgotten == Long.MIN_VALUE) {
      return false;
    }
    return program.session() != null
        ? time + program.session().gapMicros() <= forgotten
        : program.sliding() != null && time < forgotten - program.late().allowedMicros();
  }
}
