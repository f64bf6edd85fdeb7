package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.BinaryRow;
import dev.joinery.kernel.bytes.SealedText;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.program.Program;
import dev.joinery.kernel.program.SealedProgram;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Puts the mark of an erasure in place of what was sealed for its subject; remembers only scratch.
 *
 * <p>Invariant: what was sealed for another subject stays, and so does a null. A mark differs from
 * all that stood there before, so that each document with it is sent again.
 */
final class Erasure {
  private final SealedProgram sealed;
  private final DataType[] types;
  private final UnsafeProjection projection;

  Erasure(Program.RelationProgram relation) {
    sealed = relation.sealed();
    types = relation.columns().stream().map(Program.Slot::type).toArray(DataType[]::new);
    projection = UnsafeProjection.create(types);
  }

  /** Returns the row with the marks of all erasures alike. */
  Slice unmarked(Slice stored) {
    UnsafeRow row = BinaryRow.of(stored, types.length);
    GenericInternalRow made = null;
    for (int column : sealed.columns()) {
      byte[] held = row.isNullAt(column) ? null : row.getUTF8String(column).getBytes();
      byte[] plain = held == null ? null : SealedText.unmarked(held);
      if (plain != null && plain.length != held.length) {
        made = made == null ? copyOf(row) : made;
        made.update(column, UTF8String.fromBytes(plain));
      }
    }
    return made == null ? stored : BinaryRow.copy(projection.apply(made));
  }

  private GenericInternalRow copyOf(UnsafeRow row) {
    GenericInternalRow copy = new GenericInternalRow(types.length);
    for (int i = 0; i < types.length; i++) {
      copy.update(i, row.isNullAt(i) ? null : row.get(i, types[i]));
    }
    return copy;
  }

  /**
   * Returns the row without what was sealed for the subject, null where it held nothing of it.
   *
   * @param marks a row with the mark in each personal column
   */
  Slice erased(Slice stored, Slice marks) {
    UnsafeRow row = BinaryRow.of(stored, types.length);
    UnsafeRow given = BinaryRow.of(marks, types.length);
    GenericInternalRow erased = copyOf(row);
    boolean changed = false;
    for (int each = 0; each < sealed.columns().length; each++) {
      int column = sealed.columns()[each];
      if (row.isNullAt(column) || given.isNullAt(column)) {
        continue;
      }
      UTF8String mark = given.getUTF8String(column);
      UTF8String held = row.getUTF8String(column);
      if (SealedText.isOfOneSubject(held.getBytes(), mark.getBytes()) && !held.equals(mark)) {
        erased.update(column, mark);
        changed = true;
        if (sealed.indexes()[each] >= 0) {
          erased.update(sealed.indexes()[each], null);
        }
      }
    }
    return changed ? BinaryRow.copy(projection.apply(erased)) : null;
  }
}
