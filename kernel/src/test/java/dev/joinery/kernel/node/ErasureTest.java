package dev.joinery.kernel.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.joinery.kernel.bytes.BinaryRow;
import dev.joinery.kernel.bytes.SealedText;
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
import dev.joinery.kernel.program.SealedProgram;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.junit.jupiter.api.Test;

/** What an erasure does to the row of its subject, and to no other. */
class ErasureTest {
  private static final Table USER = Table.of("user", 1, "id long, email string, hash string");
  private static final byte[] ANN = new byte[SealedText.NAME_BYTES];
  private static final byte[] BOB = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

  private final RelationRows rows = rows();
  private final UnsafeProjection bytes = UnsafeProjection.create(USER.type());
  private RowCell cell = RowCell.read(null);
  private long line;

  private static RelationRows rows() {
    Program program = TreeProgram.of(false, Tree.root("product", USER));
    CompiledProgram compiled = new Compiler(null).compile(program);
    Program.RelationProgram user = program.relations().get(0);
    SealedProgram sealed = new SealedProgram(0, new int[] {1}, new int[] {2}, null, null, null, null);
    Program.RelationProgram personal =
        new Program.RelationProgram(
            user.name(), user.columns(), user.key(), user.assembler(), sealed, null, null, null);
    return new RelationRows(personal, compiled.assemblers().get(0), 1_000, new Counters());
  }

  private static String sealed(byte[] name, String body) {
    byte[] text = SealedText.of(name, body.getBytes(StandardCharsets.UTF_8), true);
    return new String(text, StandardCharsets.US_ASCII);
  }

  private RawChange change(int op, String email, String hash) {
    List<Object> values = new ArrayList<>(Arrays.asList(1L, email, hash));
    Slice row = BinaryRow.copy(bytes.apply(USER.internal(values)));
    Change change = new Change(op, false, 0, 0, line++, null);
    return RawChange.read(Message.raw(0, 0, Message.ROLE_PRIMARY, change, row));
  }

  private RawChange upsert(String email) {
    return change(Message.OP_UPSERT, email, email == null ? null : "hash");
  }

  private RawChange erasure(String mark) {
    return change(Message.OP_ERASE, mark, null);
  }

  private boolean apply(RawChange... changes) {
    boolean touched = rows.apply(cell, new ArrayList<>(Arrays.asList(changes)), 10, new Outbox());
    cell = touched ? RowCell.read(Slice.of(cell.toBytes())) : cell;
    return touched;
  }

  private String text(int column) {
    UnsafeRow row = BinaryRow.of(cell.row, 3);
    return row.isNullAt(column) ? null : row.getUTF8String(column).toString();
  }

  @Test
  void itMarksWhatWasSealedAndEmptiesTheIndexWhateverElseItsBatchBrings() {
    String mark = sealed(ANN, "mark");
    assertTrue(apply(upsert(sealed(ANN, "old"))));
    RawChange erasure = erasure(mark);

    assertTrue(apply(erasure, upsert(sealed(ANN, "new"))));

    assertEquals(mark, text(1));
    assertNull(text(2));
    assertFalse(apply(erasure(mark)));
  }

  @Test
  void aRowThatIsNotThereStaysAway() {
    assertFalse(apply(erasure(sealed(ANN, "mark"))));
    assertFalse(cell.exists);
    apply(upsert(sealed(ANN, "old")));
    apply(change(Message.OP_DELETE, null, null));

    assertFalse(apply(erasure(sealed(ANN, "mark"))));
    assertFalse(cell.exists);
  }

  @Test
  void whatWasSealedForAnotherStaysAndSoDoesANull() {
    apply(upsert(sealed(BOB, "bob")));
    assertFalse(apply(erasure(sealed(ANN, "mark"))));
    assertEquals(sealed(BOB, "bob"), text(1));
    assertEquals("hash", text(2));

    apply(upsert(null));
    assertFalse(apply(erasure(sealed(ANN, "mark"))));
    assertNull(text(1));
  }

  @Test
  void itChangesNoPosition() {
    apply(upsert(sealed(ANN, "old")));
    long minor = cell.minor;

    apply(erasure(sealed(ANN, "mark")));

    assertEquals(minor, cell.minor);
  }
}
