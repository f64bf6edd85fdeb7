package dev.joinery.kernel.egress;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import dev.joinery.kernel.bytes.BinaryRow;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.chain.Table;
import dev.joinery.kernel.chain.Tree;
import dev.joinery.kernel.chain.TreeProgram;
import dev.joinery.kernel.door.Years;
import dev.joinery.kernel.message.Change;
import dev.joinery.kernel.message.Message;
import dev.joinery.kernel.message.RawChange;
import dev.joinery.kernel.render.ByteSink;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.junit.jupiter.api.Test;

/** What a store is told of a change, and which times it cannot be told. */
class ChangeLinesTest {
  private static final Table USER = Table.of("user", 1, "id long, name string, at timestamp");
  private static final long YEAR_MICROS = 31_556_952_000_000L;

  private final ChangeLines lines =
      new ChangeLines(TreeProgram.of(false, Tree.root("product", USER)).relations());
  private final Years years = new Years(USER.type());

  private static Slice row(Object... values) {
    UnsafeProjection bytes = UnsafeProjection.create(USER.type());
    return BinaryRow.copy(bytes.apply(USER.internal(Arrays.asList(values))));
  }

  private String line(int op, boolean positioned, long[] absent, Slice row) {
    return line(new Change(op, positioned, 7, 2, 11, absent), row);
  }

  private String line(Change change, Slice row) {
    ByteSink out = new ByteSink(64);
    lines.write(RawChange.read(Message.raw(0, 0, 0, change, row)), out);
    return new String(out.toByteArray(), StandardCharsets.UTF_8);
  }

  @Test
  void anUpsertTellsItsPositionPlaceAndRow() {
    assertEquals(
        "[0,0,7,2,11,null,{\"id\":1,\"name\":\"a\",\"at\":null}]\n",
        line(Message.OP_UPSERT, true, null, row(1L, "a", null)));
  }

  @Test
  void aChangeWithoutPositionHasNone() {
    assertEquals(
        "[0,1,null,2,11,null,{\"id\":1,\"name\":null,\"at\":null}]\n",
        line(Message.OP_DELETE, false, null, row(1L, null, null)));
  }

  @Test
  void aRowOfASnapshotSaysSo() {
    Change change = new Change(Message.OP_UPSERT, true, 7, 2, 11, null);
    assertEquals(
        "[0,0,7,2,11,null,{\"id\":1,\"name\":\"a\",\"at\":null},true]\n",
        line(change.ofSnapshot(), row(1L, "a", null)));
  }

  @Test
  void columnsThatWereLeftOutAreListed() {
    assertEquals(
        "[0,0,7,2,11,[1,2],{\"id\":1,\"name\":null,\"at\":null}]\n",
        line(Message.OP_UPSERT, true, new long[] {0b110}, row(1L, null, null)));
  }

  @Test
  void aTimeOutsideTheYearsOfStoresIsRefusedByItsColumn() {
    assertNull(years.refusal(row(1L, "a", 2026L * YEAR_MICROS / 40)));
    assertEquals(
        "column \"at\": a time outside the years 1 to 9999",
        years.refusal(row(1L, "a", 9000L * YEAR_MICROS)));
  }
}
