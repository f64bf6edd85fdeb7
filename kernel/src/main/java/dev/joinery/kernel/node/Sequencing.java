package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.BinaryRow;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.KeyCodec;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.EventTime;
import dev.joinery.kernel.message.Marks;
import dev.joinery.kernel.message.Message;
import dev.joinery.kernel.message.Outbox;
import dev.joinery.kernel.program.GroupProgram;
import dev.joinery.kernel.program.PatternProgram;
import dev.joinery.kernel.program.PatternProgram.StepProgram;
import dev.joinery.kernel.state.TimedMap;
import java.util.Arrays;
import java.util.BitSet;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructField;

/**
 * The way of a relation's rows to the keys of one {@link Pattern}: finds where a row stands in the
 * order of its key, and sends what comes there and what goes.
 *
 * <p>A place holds one row at most, and what is sent of it is what becomes of it by all changes
 * taken, so messages may overtake one another.
 */
public final class Sequencing implements RowWay {
  private static final int AT_ONCE = 1024;

  private final int node;
  private final PatternProgram program;
  private final NodeContext context;
  private final String product;
  private final Assembler assembler;
  private final UnsafeRow visible;
  private final UnsafeRow input;
  private final KeyCodec by;
  private final BitSet starters;
  private final Deadlines deadlines;
  private final Lateness lateness;
  private final boolean append;
  private final KeyCodec[] rules;
  private final Map<Standing, Slice> taken = new LinkedHashMap<>();

  /** Where a row stands: under which key, and in its order. */
  private record Standing(Slice key, Slice place) {}

  /** A row as it is kept; null where there is none. */
  private record Seen(Standing at, Slice row, long time, int failures) {}

  public Sequencing(int node, NodeContext context) {
    this.node = node;
    this.program = (PatternProgram) context.program().nodes().get(node);
    this.context = context;
    this.product = context.productOf(program.input());
    this.assembler = context.assembler(program.input());
    this.visible = new UnsafeRow(context.visible(program.relation()).size());
    StructField[] fields = context.program().assemblers().get(program.input()).type().fields();
    this.input = new UnsafeRow(fields.length);
    this.by =
        KeyCodec.of(
            Arrays.stream(fields)
                .limit(program.by())
                .map(StructField::dataType)
                .toArray(DataType[]::new));
    this.rules =
        program.rules() == null ? new KeyCodec[0] : PatternRules.codecs(program, fields);
    this.starters = startersOf(program);
    this.deadlines = Deadlines.before(node, context.program());
    this.append =
        context.program().routes().stream().anyMatch(each -> each.node() == node);
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

  /** Tells from when to when a match may be that waits and has a row of a time. */
  private void eachLifetime(long time, Windows.Taking taking) {
    taking.take(time - program.withinMicros(), time + program.withinMicros() + 1);
  }

  /** The variables that the first row of a match may be. */
  private static BitSet startersOf(PatternProgram program) {
    BitSet starters = new BitSet();
    BitSet seen = new BitSet();
    BitSet waiting = new BitSet();
    waiting.set(program.first());
    for (int at = program.first(); at >= 0; at = waiting.nextSetBit(0)) {
      waiting.clear(at);
      seen.set(at);
      StepProgram step = program.steps().get(at);
      switch (step.step()) {
        case TAKE -> starters.set(step.variable());
        case PASS -> waiting.set(step.next());
        case TRY -> {
          waiting.set(step.next());
          waiting.set(step.other());
        }
        case MATCHED, FAILED -> {}
      }
      waiting.andNot(seen);
    }
    return starters;
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
    return append;
  }

  @Override
  public GroupProgram.LateProgram late() {
    return program.late();
  }

  @Override
  public Lateness lateness() {
    return lateness;
  }

  @Override
  public boolean take(
      Slice before, Slice after, Slice place, long watermark, long timestamp, Outbox outbox) {
    Seen from = see(before, place);
    Seen to = see(after, place);
    if (to != null) {
      int failedBefore = from == null ? 0 : from.failures();
      context.counters().productFailures(product, failedBefore, to.failures());
      if (lateness == null && to.at() == null) {
        context.counters().product(product, Lateness.TIMELESS, 1);
      }
    }
    from = from == null || from.at() == null ? null : from;
    to = to == null || to.at() == null ? null : to;
    boolean touches = from != null || to != null;
    boolean goes = from != null && !isForgotten(from.time(), watermark);
    boolean comes = to != null && !isForgotten(to.time(), watermark);
    boolean stays = goes && comes && from.at().equals(to.at());
    if (goes && !stays) {
      taken.put(from.at(), Slice.EMPTY);
    }
    if (comes && !(stays && from.row().equals(to.row()))) {
      taken.put(to.at(), to.row());
    }
    if (append && taken.size() >= AT_ONCE) {
      sendTo(timestamp, outbox);
    }
    return touches && !goes && !comes;
  }

  private Seen see(Slice row, Slice place) {
    if (row == null) {
      return null;
    }
    assembler.assemble(row, BinaryRow.point(visible, row), Assembler.NO_INPUTS);
    Slice kept = assembler.row();
    BinaryRow.point(input, kept);
    boolean timed = program.time() >= 0;
    if (timed && !EventTime.isIn(input, program.time())) {
      return new Seen(null, kept, Marks.UNKNOWN, assembler.failures());
    }
    long time = timed ? input.getLong(program.time()) : Marks.UNKNOWN;
    Standing at = new Standing(Slice.of(by.encode(input)), placeOf(time, place));
    return new Seen(at, kept, time, assembler.failures());
  }

  /** A row that moves in time alone has two places: it may be forgotten at the first of them. */
  private Slice placeOf(long time, Slice place) {
    Slice order = assembler.order();
    ByteWriter out = new ByteWriter(order.length() + place.length() + Long.BYTES);
    if (program.byTime()) {
      out.writeRaw(TimedMap.startOf(time));
    }
    out.writeRaw(order);
    if (!program.byTime() && program.time() >= 0) {
      out.writeRaw(TimedMap.startOf(time));
    }
    return Slice.of(out.writeRaw(place).toBytes());
  }

  private boolean isForgotten(long time, long watermark) {
    return program.late() != null
        && watermark != Marks.UNKNOWN
        && time < watermark - program.late().allowedMicros() - program.late().retentionMicros();
  }

  /** A key that has a row which sees a rule's. */
  private record Asked(int rule, Slice value, Slice key) {}

  private void ask(Slice key, Slice row, Map<Asked, Long> asked) {
    BinaryRow.point(input, row);
    for (int i = 0; i < rules.length; i++) {
      if (!rules[i].anyNull(input)) {
        long time = program.time() < 0 ? 0 : input.getLong(program.time());
        asked.merge(new Asked(i, Slice.of(rules[i].encode(input)), key), time, Math::max);
      }
    }
  }

  @Override
  public void sendTo(long timestamp, Outbox outbox) {
    Map<Asked, Long> asked = new LinkedHashMap<>();
    taken.forEach(
        (at, row) -> {
          byte[] key = at.key().toBytes();
          Slice known = row.isEmpty() ? null : row;
          outbox.send(node, key, Message.placed(timestamp, at.place().toBytes(), known));
          if (known != null) {
            ask(at.key(), known, asked);
          }
          if (deadlines != null && known != null && mayStart(known)) {
            BinaryRow.point(input, known);
            long end = input.getLong(program.time()) + program.withinMicros() + 1;
            deadlines.send(key, end, timestamp, outbox);
          }
        });
    taken.clear();
    asked.forEach(
        (each, time) -> {
          int target = program.rules().uses().get(each.rule()).target();
          byte[] key = each.key().toBytes();
          outbox.send(target, each.value().toBytes(), Message.asked(timestamp, time, key));
        });
  }

  /** With rules any row may: what it sees is not known here, and may be another later. */
  private boolean mayStart(Slice row) {
    if (rules.length > 0) {
      return true;
    }
    BinaryRow.point(input, row);
    return starters.stream()
        .mapToObj(program.tests()::get)
        .anyMatch(each -> each.column() < 0 || isTrue(each.column()));
  }

  private boolean isTrue(int column) {
    return !input.isNullAt(column) && input.getBoolean(column);
  }
}
