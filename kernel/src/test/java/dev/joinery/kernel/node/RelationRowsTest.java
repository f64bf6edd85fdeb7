package dev.joinery.kernel.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.joinery.kernel.bytes.BinaryRow;
import dev.joinery.kernel.bytes.ByteReader;
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
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.junit.jupiter.api.Test;

/** How changes of one key become its row: interface.md §5, "Position". */
class RelationRowsTest {
  private static final Table USER =
      Table.of("user", 1, "id long, name string, balance decimal(30,2), age int");
  private static final long RETENTION = 1_000;
  private static final int NONE = -1;

  private final Counters counters = new Counters();
  private final RelationRows rows = rows();
  private final UnsafeProjection bytes = UnsafeProjection.create(USER.type());
  private RowCell cell = RowCell.read(null);
  private long now = 10;
  private long line;

  private RelationRows rows() {
    Program program = TreeProgram.of(false, Tree.root("product", USER));
    CompiledProgram compiled = new Compiler(null).compile(program);
    return new RelationRows(
        program.relations().get(0), compiled.assemblers().get(0), RETENTION, counters);
  }

  private RawChange change(int op, long position, String name, Integer age, int... absent) {
    List<Object> values = new ArrayList<>(Arrays.asList(1L, name, null, age));
    long[] words = absent.length == 0 ? null : new long[1];
    for (int column : absent) {
      words[0] |= 1L << column;
    }
    Change change = new Change(op, position >= 0, Math.max(position, 0), 0, line++, words);
    Slice row = BinaryRow.copy(bytes.apply(USER.internal(values)));
    return RawChange.read(Message.raw(0, 0, Message.ROLE_PRIMARY, change, row));
  }

  private RawChange upsert(long position, String name) {
    return change(Message.OP_UPSERT, position, name, null);
  }

  private RawChange delete(long position) {
    return change(Message.OP_DELETE, position, null, null);
  }

  private RawChange tombstone() {
    return change(Message.OP_TOMBSTONE, NONE, null, null);
  }

  /** A batch: the cell is written and read again. */
  private boolean apply(RawChange... changes) {
    now++;
    boolean touched =
        rows.apply(cell, new ArrayList<>(Arrays.asList(changes)), now, new Outbox());
    if (touched) {
      cell = RowCell.read(Slice.of(cell.toBytes()));
    }
    return touched;
  }

  private String name() {
    Slice view = rows.view(cell);
    UnsafeRow row = view == null ? null : BinaryRow.of(view, USER.type().length());
    return row == null || row.isNullAt(1) ? null : row.getString(1);
  }

  private Integer age() {
    UnsafeRow row = BinaryRow.of(rows.view(cell), USER.type().length());
    return row.isNullAt(3) ? null : (Integer) row.getInt(3);
  }

  private Map<String, Long> counts() {
    Map<String, Long> counts = new TreeMap<>();
    Outbox outbox = new Outbox();
    counters.drainTo(outbox, now);
    outbox.forEachRemaining(
        each -> {
          ByteReader in = Message.body(each._1());
          in.readBlob();
          in.readBlob();
          counts.put(new String(in.readBlob().toBytes()), in.readLong());
        });
    return counts;
  }

  @Test
  void theNewestPositionWinsWhateverItsPlaceInTheLog() {
    apply(upsert(5, "five"));
    apply(upsert(3, "three"));

    assertEquals("five", name());
    assertEquals(Map.of("stale", 1L), counts());
  }

  @Test
  void ofTwoWithOnePositionTheLaterInTheLogWins() {
    apply(upsert(5, "first"), upsert(5, "second"));

    assertEquals("second", name());
    assertEquals(Map.of(), counts());
  }

  @Test
  void withoutPositionsTheLogDecides() {
    RawChange earlier = upsert(NONE, "earlier");
    RawChange later = upsert(NONE, "later");

    apply(later, earlier);

    assertEquals("later", name());
  }

  @Test
  void aRepeatChangesNothing() {
    RawChange change = upsert(5, "five");
    apply(change);
    long epoch = cell.epoch;

    assertEquals(false, apply(change));

    assertEquals("five", name());
    assertEquals(epoch, cell.epoch);
    assertEquals(Map.of("repeated", 1L), counts());
  }

  @Test
  void aChangeWithoutPositionIsNewerThanAllBeforeIt() {
    apply(upsert(50, "streamed"));
    apply(upsert(NONE, "snapshot"));
    assertEquals("snapshot", name());

    apply(upsert(40, "older"));
    assertEquals("snapshot", name());

    apply(upsert(51, "newer"));
    assertEquals("newer", name());
  }

  @Test
  void anOlderChangeDoesNotBringADeletedRowBack() {
    apply(upsert(5, "five"));
    apply(delete(6));
    apply(upsert(4, "four"));

    assertNull(rows.view(cell));
    assertEquals(Map.of("stale", 1L), counts());
  }

  @Test
  void aDeleteOfARowNeverSeenKeepsOlderChangesOut() {
    apply(delete(6));
    apply(upsert(5, "five"));

    assertNull(rows.view(cell));
  }

  @Test
  void afterItsRetentionADeleteIsForgotten() {
    apply(delete(6));
    now += RETENTION + 1;
    apply(upsert(5, "five"));

    assertEquals("five", name());
  }

  @Test
  void withinItsRetentionADeleteIsRemembered() {
    apply(delete(6));
    now += RETENTION - 1;
    apply(upsert(5, "five"));

    assertNull(name());
  }

  @Test
  void aRowIsNeverForgotten() {
    apply(upsert(6, "six"));
    now += 100 * RETENTION;
    apply(upsert(5, "five"));

    assertEquals("six", name());
  }

  @Test
  void aTombstoneAfterADeleteChangesNothing() {
    apply(upsert(5, "five"), delete(6), tombstone(), upsert(6, "six"));

    assertEquals("six", name());
    assertEquals(Map.of("tombstones", 1L), counts());
  }

  @Test
  void aTombstoneAfterADeleteOfAnEarlierBatchChangesNothing() {
    apply(delete(6));
    apply(tombstone());
    apply(upsert(7, "seven"));

    assertEquals("seven", name());
    assertEquals(Map.of("tombstones", 1L), counts());
  }

  @Test
  void aTombstoneAfterAStaleDeleteChangesNothing() {
    apply(upsert(5, "five"));
    apply(delete(4));
    apply(tombstone());

    assertEquals("five", name());
    assertEquals(Map.of("stale", 1L, "tombstones", 1L), counts());
  }

  @Test
  void aTombstoneWithoutADeleteDeletes() {
    apply(upsert(5, "five"));
    apply(tombstone());

    assertNull(rows.view(cell));
  }

  @Test
  void onlyTheFirstTombstoneAfterADeleteIsItsOwn() {
    apply(upsert(5, "five"), delete(4), tombstone(), tombstone());

    assertNull(rows.view(cell));
  }

  @Test
  void anUpsertBetweenADeleteAndATombstoneMakesItDelete() {
    apply(delete(5), upsert(6, "six"), tombstone());

    assertNull(rows.view(cell));
  }

  @Test
  void aColumnThatWasLeftOutKeepsItsValue() {
    apply(change(Message.OP_UPSERT, 1, "name", 30));
    apply(change(Message.OP_UPSERT, 2, null, 31, 1));

    assertEquals("name", name());
    assertEquals(31, age());
  }

  @Test
  void aColumnLeftOutOnFirstSightOrAfterADeleteIsNull() {
    apply(change(Message.OP_UPSERT, 1, null, 30, 1));
    assertNull(name());

    apply(change(Message.OP_UPSERT, 2, "name", 30), delete(3));
    apply(change(Message.OP_UPSERT, 4, null, 31, 1));
    assertNull(name());
    assertEquals(31, age());
  }

  @Test
  void anUpdateThatLeavesColumnsOutAndChangesNoneLeavesTheSameBytes() {
    apply(change(Message.OP_UPSERT, 1, "name", 30));
    Slice before = rows.view(cell).detach();
    long epoch = cell.epoch;

    apply(change(Message.OP_UPSERT, 2, null, 30, 1, 2));

    assertEquals(before, rows.view(cell));
    assertEquals(epoch, cell.epoch);
  }

  @Test
  void theEpochRisesWithEachChangeOfContentAlsoPastADelete() {
    apply(upsert(1, "a"));
    long first = cell.epoch;
    apply(upsert(2, "a"));
    assertEquals(first, cell.epoch);

    apply(delete(3));
    long deleted = cell.epoch;
    assertTrue(deleted > first);
    now -= 5;
    apply(upsert(4, "a"));
    assertTrue(cell.epoch > deleted, "also when the clock went back");
    assertNotEquals(0, first);
  }

  @Test
  void changesThatStandNowhereAreRefusedWhereTheyDiffer() {
    RawChange one = upsert(NONE, "one");
    RawChange other = upsert(NONE, "other");

    boolean touched = apply(orderless(one), orderless(other));

    assertEquals(false, touched);
    assertEquals(Map.of("dead", 2L), counts());
  }

  private static RawChange orderless(RawChange change) {
    Change told = new Change(change.op(), false, 0, 0, RawChange.ORDERLESS, null);
    return RawChange.read(Message.raw(0, change.relation(), change.role(), told, change.row()));
  }

  @Test
  void theResultDoesNotDependOnHowTheLogIsCutIntoBatches() {
    for (int seed = 0; seed < 200; seed++) {
      Random random = new Random(seed);
      List<RawChange> log = randomLog(random);
      cell = RowCell.read(null);
      apply(log.toArray(RawChange[]::new));
      String whole = name() + " " + cell.exists + " " + cell.position + " " + cell.afterDelete;

      cell = RowCell.read(null);
      for (int at = 0; at < log.size(); ) {
        int to = Math.min(log.size(), at + 1 + random.nextInt(3));
        apply(log.subList(at, to).toArray(RawChange[]::new));
        at = to;
      }

      assertEquals(
          whole,
          name() + " " + cell.exists + " " + cell.position + " " + cell.afterDelete,
          "seed " + seed);
    }
  }

  private List<RawChange> randomLog(Random random) {
    List<RawChange> log = new ArrayList<>();
    for (int i = 0; i < 12; i++) {
      long position = random.nextInt(4) == 0 ? NONE : random.nextInt(15);
      log.add(
          switch (random.nextInt(5)) {
            case 0 -> delete(position);
            case 1 -> tombstone();
            default -> upsert(position, "n" + i);
          });
    }
    return log;
  }
}
