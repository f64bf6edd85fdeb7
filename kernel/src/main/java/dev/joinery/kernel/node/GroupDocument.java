package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.BinaryRow;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.program.GroupProgram;
import dev.joinery.kernel.program.Program;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructField;

/**
 * What a group is sent as, or a match: makes its document of the columns of its key, its window and
 * its values, and the row of its key. It remembers nothing.
 */
final class GroupDocument {
  private final Assembler assembler;
  private final UnsafeProjection own;
  private final UnsafeRow ownRow;
  private final UnsafeProjection key;
  private final DataType[] inputs;

  GroupDocument(GroupProgram program, NodeContext context) {
    this(program.assembler(), program.product(), context);
  }

  GroupDocument(int assembler, int product, NodeContext context) {
    this.assembler = context.assembler(assembler);
    Program.AssemblerProgram document = context.program().assemblers().get(assembler);
    this.own = UnsafeProjection.create(typesOf(document.own()));
    this.ownRow = new UnsafeRow(document.own().size());
    this.inputs = typesOf(document.inputs());
    StructField[] columns = context.program().products().get(product).key().fields();
    this.key =
        UnsafeProjection.create(
            Arrays.stream(columns).map(StructField::dataType).toArray(DataType[]::new));
  }

  private static DataType[] typesOf(List<Program.Slot> slots) {
    return slots.stream().map(Program.Slot::type).toArray(DataType[]::new);
  }

  /**
   * The document.
   *
   * @param columns those of the key, then of a window the end and its seconds
   * @param results of the aggregates, as a binary row
   */
  Slice row(Object[] columns, Slice results) {
    return row(columns, values(results));
  }

  /** The same of values that are known one by one. */
  Slice row(Object[] columns, Object[] values) {
    Slice copied = BinaryRow.copy(own.apply(new GenericInternalRow(columns)));
    assembler.assemble(copied, BinaryRow.point(ownRow, copied), values);
    return assembler.row();
  }

  private Object[] values(Slice results) {
    Object[] values = new Object[inputs.length];
    UnsafeRow row = BinaryRow.of(results, inputs.length);
    for (int i = 0; i < inputs.length; i++) {
      values[i] = row.isNullAt(i) ? null : row.get(i, inputs[i]);
    }
    return values;
  }

  /** How many expressions failed over the last document. */
  int failures() {
    return assembler.failures();
  }

  /** The row of the key; {@code columns} begin with its own. */
  Slice key(Object[] columns) {
    return BinaryRow.copy(key.apply(new GenericInternalRow(columns)));
  }
}
