package dev.joinery.kernel.stream;

import dev.joinery.kernel.bytes.BinaryRow;
import dev.joinery.kernel.bytes.Hash;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.node.Assembler;
import dev.joinery.kernel.node.NodeContext;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructField;

/** What a node adds to an event, over a row: a table's, or the event's own; remembers nothing. */
final class TableFields {

  private final Assembler assembler;
  private final UnsafeRow row;
  private final UnsafeRow made;
  private final DataType[] types;
  private final Answer none;
  private final NodeContext context;
  private final String owner;

  TableFields(int assembler, int columns, String owner, NodeContext context) {
    StructField[] shown = context.program().assemblers().get(assembler).type().fields();
    this.assembler = context.assembler(assembler);
    this.row = new UnsafeRow(columns);
    this.made = new UnsafeRow(shown.length);
    this.types = new DataType[shown.length];
    for (int i = 0; i < types.length; i++) {
      types[i] = shown[i].dataType();
    }
    this.context = context;
    this.owner = owner;
    Object[] nulls = new Object[types.length];
    Slice bytes =
        BinaryRow.copy(UnsafeProjection.create(types).apply(new GenericInternalRow(nulls)));
    this.none = new Answer(false, bytes, nulls);
  }

  /**
   * The fields of one row.
   *
   * @param found whether there is a row; without one all fields are null
   * @param bytes by which two answers are compared
   */
  record Answer(boolean found, Slice bytes, Object[] values) {
    /** Of equal fields the same. */
    long hash() {
      return Hash.longOf(bytes.array(), bytes.offset(), bytes.length());
    }
  }

  Answer none() {
    return none;
  }

  /** The fields over a visible row, or over none. */
  Answer over(Slice visible) {
    return visible == null ? none : over(visible, Assembler.NO_INPUTS);
  }

  /** The fields over a row and {@code inputs}. */
  Answer over(Slice visible, Object[] inputs) {
    assembler.assemble(visible, BinaryRow.point(row, visible), inputs);
    if (assembler.failures() > 0) {
      context.counters().product(owner, "expression_errors", assembler.failures());
    }
    Slice bytes = assembler.row();
    BinaryRow.point(made, bytes);
    Object[] values = new Object[types.length];
    for (int i = 0; i < values.length; i++) {
      values[i] = made.isNullAt(i) ? null : made.get(i, types[i]);
    }
    return new Answer(true, bytes, values);
  }
}
