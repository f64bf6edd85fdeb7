package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.BinaryRow;
import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.Message;
import dev.joinery.kernel.message.Outbox;
import dev.joinery.kernel.message.RawChange;
import dev.joinery.kernel.program.DocumentProgram;
import dev.joinery.kernel.program.Program;
import dev.joinery.kernel.program.VersionsProgram;
import dev.joinery.kernel.state.State;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;

/**
 * Remembers, under a relation's key, the versions of its row by their times; sends each of its uses
 * the versions that are others now, each as a row of its own that tells until when it is valid.
 *
 * <p>A version's own key is the row's, then the time from which it is valid ({@link #identityOf}).
 * One that comes is told with the one before it, which ends there: a batch costs what it brings,
 * however many versions there are.
 */
public final class Versions implements Node {
  private static final int VERSIONS = 0;

  private final RelationRows rows;
  private final VersionLog log;
  private final Assembler lasting;
  private final UnsafeRow visible;
  private final List<RowUse> uses = new ArrayList<>();

  public Versions(VersionsProgram program, NodeContext context) {
    rows = context.rows(program.relation());
    Set<String> products = new TreeSet<>();
    program.uses().forEach(each -> products.addAll(productOf(each, context)));
    Runnable timeless =
        () ->
            products.forEach(
                each -> context.counters().product(each, VersionLog.TIMELESS, 1));
    log =
        new VersionLog(
            rows, program.validFrom(), -1, program.told(), context.counters(), timeless);
    lasting = context.view(program.versions());
    visible = new UnsafeRow(rows.visibleColumns());
    for (Program.Use use : program.uses()) {
      uses.add(RowUse.of(use, program.versions(), context));
    }
  }

  /** The product that has versions embedded by a use; none where another use tells it. */
  private static List<String> productOf(Program.Use use, NodeContext context) {
    List<Program.NodeProgram> nodes = context.program().nodes();
    if (use instanceof Program.ChildUse child) {
      return List.of(context.productOf(child.assembler()));
    }
    if (use instanceof Program.OwnUse own
        && nodes.get(own.target()) instanceof DocumentProgram.FoldProgram fold) {
      return List.of(context.productOf(fold.assembler()));
    }
    if (use instanceof Program.ParentUse parent
        && nodes.get(parent.target()) instanceof DocumentProgram.ToOneProgram toOne
        && toOne.merge() != null) {
      return List.of(context.productOf(toOne.merge().assembler()));
    }
    return List.of();
  }

  /** The key of the version of a row that is valid from a time. */
  static byte[] identityOf(Slice key, long from) {
    ByteWriter out = new ByteWriter(key.length() + Long.BYTES);
    return out.writeRaw(key).writeRaw(TimeCode.of(from)).toBytes();
  }

  /** The key of the row that a version is of. */
  static Slice keyOf(Slice identity) {
    return identity.sub(0, identity.length() - Long.BYTES);
  }

  /** The time from which a version is valid. */
  static long fromOf(Slice identity) {
    return TimeCode.of(identity.sub(identity.length() - Long.BYTES, Long.BYTES));
  }

  @Override
  public void handle(Slice key, List<byte[]> messages, State state, Outbox outbox) {
    long timestamp = Message.timestamp(messages.get(0));
    byte[] stored = state.read();
    ByteReader in = stored == null ? null : new ByteReader(stored);
    ByTime versions = ByTime.read(in, state, VERSIONS);
    List<RawChange> changes = new ArrayList<>(messages.size());
    for (byte[] message : messages) {
      changes.add(RawChange.read(message));
    }
    Map<Long, Slice> before = new TreeMap<>();
    boolean applied = false;
    for (RawChange change : log.inOrder(changes, timestamp, outbox)) {
      if (change.isErasure()) {
        applied |= log.erase(versions, change, time -> note(time, versions, before));
        continue;
      }
      Long time = log.timeOf(change);
      if (time != null) {
        note(time, versions, before);
        applied |= log.apply(versions, time, change, timestamp);
      }
    }
    if (!applied) {
      return;
    }
    before.forEach((time, row) -> tell(key, time, row, versions, timestamp, outbox));
    ByteWriter out = new ByteWriter(256);
    versions.write(out);
    state.write(out.toBytes());
  }

  /** Keeps what stood before the batch at a time, and at the one below it, which may end there. */
  private void note(long time, ByTime versions, Map<Long, Slice> before) {
    Long below = versions.get(time) == null ? versions.lastBelow(time) : null;
    for (Long each : below == null ? List.of(time) : List.of(time, below)) {
      if (!before.containsKey(each)) {
        before.put(each, rowOf(each, versions));
      }
    }
  }

  private void tell(
      Slice key, long time, Slice before, ByTime versions, long timestamp, Outbox outbox) {
    Slice after = rowOf(time, versions);
    if (Objects.equals(before, after)) {
      return;
    }
    RowCell cell = versions.cell(time);
    cell.epoch = Math.max(timestamp, cell.epoch + 1);
    versions.put(time, Slice.of(cell.toBytes()));
    RowUse.Change change =
        new RowUse.Change(identityOf(key, time), before, after, cell.epoch, timestamp);
    uses.forEach(use -> use.send(change, outbox));
  }

  /** The version of a time, as products see it, with the time until which it is valid. */
  private Slice rowOf(long time, ByTime versions) {
    Slice row = rows.view(versions.cell(time));
    if (row == null) {
      return null;
    }
    Object[] until = {versions.firstAbove(time)};
    lasting.assemble(row, BinaryRow.point(visible, row), until);
    return lasting.row();
  }
}
