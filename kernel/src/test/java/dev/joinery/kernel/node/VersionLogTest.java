package dev.joinery.kernel.node;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.joinery.kernel.bytes.BinaryRow;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.chain.Table;
import dev.joinery.kernel.chain.Tree;
import dev.joinery.kernel.chain.TreeProgram;
import dev.joinery.kernel.message.Change;
import dev.joinery.kernel.message.Counters;
import dev.joinery.kernel.message.Message;
import dev.joinery.kernel.message.Outbox;
import dev.joinery.kernel.message.RawChange;
import dev.joinery.kernel.program.CompiledProgram;
import dev.joinery.kernel.program.Compiler;
import dev.joinery.kernel.program.Program;
import dev.joinery.kernel.state.MemoryState;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.junit.jupiter.api.Test;

/** Which versions stand after changes of a frame, which stand nowhere in a log. */
class VersionLogTest {
  private static final Table PRICE =
      Table.of("price", 1, "id long, amount long, tax long, valid_at long");
  private static final int NONE = -1;
  private static final int AMOUNT = 1;
  private static final int TAX = 2;
  private static final int VALID_AT = 3;

  private final RelationRows rows = rows();
  private final VersionLog log =
      new VersionLog(rows, VALID_AT, NONE, new int[0], new Counters(), () -> {});
  private final UnsafeProjection bytes = UnsafeProjection.create(PRICE.type());
  private final ByTime versions = ByTime.read(null, new MemoryState(), 0);

  private static RelationRows rows() {
    Program program = TreeProgram.of(false, Tree.root("product", PRICE));
    CompiledProgram compiled = new Compiler(null).compile(program);
    return new RelationRows(
        program.relations().get(0), compiled.assemblers().get(0), 1_000, new Counters());
  }

  private RawChange upsert(long position, long amount, long validAt) {
    return upsert(position, amount, 0L, validAt);
  }

  /** A null amount or tax is left out. */
  private RawChange upsert(long position, Long amount, Long tax, long validAt) {
    long absent = (amount == null ? 1L << AMOUNT : 0) | (tax == null ? 1L << TAX : 0);
    Change change =
        new Change(
            Message.OP_UPSERT,
            position != NONE,
            Math.max(position, 0),
            3,
            RawChange.ORDERLESS,
            absent == 0 ? null : new long[] {absent});
    List<Object> values = Arrays.asList(1L, amount, tax, validAt);
    Slice row = BinaryRow.copy(bytes.apply(PRICE.internal(values)));
    return RawChange.read(Message.raw(0, 0, Message.ROLE_PRIMARY, change, row));
  }

  /** Applies a batch; returns the amounts from each time on. */
  private Map<Long, Long> take(RawChange... changes) {
    List<RawChange> batch = new ArrayList<>(Arrays.asList(changes));
    for (RawChange each : log.inOrder(batch, 10, new Outbox())) {
      log.apply(versions, log.timeOf(each), each, 10);
    }
    Map<Long, Long> amounts = new TreeMap<>();
    for (long time : versions.times()) {
      amounts.put(time, BinaryRow.of(versions.cell(time).row, 4).getLong(AMOUNT));
    }
    return amounts;
  }

  @Test
  void ofOneTimeTheLatestPositionStands() {
    assertEquals(
        Map.of(100L, 1L, 200L, 4L),
        take(upsert(9, 1, 100), upsert(7, 3, 100), upsert(8, 2, 100), upsert(5, 4, 200)));
    assertEquals(Map.of(100L, 1L, 200L, 6L), take(upsert(8, 5, 100), upsert(6, 6, 200)));
  }

  @Test
  void whatAChangeLeavesOutIsAsAtThePositionBeforeIt() {
    assertEquals(
        Map.of(100L, 3L), take(upsert(9, null, 1L, 100), upsert(7, 3L, null, 100)));
  }

  @Test
  void changesOfOneTimeThatDifferAreRefusedWhereTheirPositionIsOne() {
    assertEquals(
        Map.of(200L, 4L),
        take(upsert(7, 1, 100), upsert(7, 2, 100), upsert(8, 3, 100), upsert(5, 4, 200)));
  }

  @Test
  void changesOfOneTimeThatDifferAreRefusedWhereOneHasNoPosition() {
    assertEquals(Map.of(), take(upsert(NONE, 1, 100), upsert(7, 2, 100)));
    assertEquals(Map.of(), take(upsert(7, 1, 100), upsert(8, 2, 100), upsert(NONE, 2, 100)));
  }

  @Test
  void theSameChangeToldTwiceStands() {
    assertEquals(
        Map.of(100L, 1L, 200L, 2L),
        take(
            upsert(7, 1, 100),
            upsert(7, 1, 100),
            upsert(NONE, 2, 200),
            upsert(NONE, 2, 200)));
  }
}
