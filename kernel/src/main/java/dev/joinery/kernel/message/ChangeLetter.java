package dev.joinery.kernel.message;

import dev.joinery.kernel.bytes.BinaryRow;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.program.Program;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;

/** Tells as a dead letter why a decoded change cannot be applied; remembers nothing. */
public final class ChangeLetter {
  private final Program.RelationProgram relation;

  public ChangeLetter(Program.RelationProgram relation) {
    this.relation = relation;
  }

  /** {@code row} has all decoded columns; {@code value} is left null where the row goes. */
  public byte[] of(String reason, String detail, Slice row, boolean delete, long timestamp) {
    return letter(new DeadLetter(reason, detail), row, delete, timestamp);
  }

  /** Tells that a row, after its change, came late for a product. */
  public byte[] late(String reason, String detail, String product, Slice row, long timestamp) {
    return letter(new DeadLetter(reason, detail).put("product", product), row, false, timestamp);
  }

  private byte[] letter(DeadLetter begun, Slice row, boolean delete, long timestamp) {
    int columns = relation.columns().size();
    UnsafeRow decoded = BinaryRow.of(row, columns);
    DeadLetter letter =
        begun
            .put("relation", relation.name())
            .time(timestamp)
            .put("key", keyType(), keyOf(decoded));
    return (delete ? letter.put("value", (String) null) : letter.put("value", relation.decoded(), decoded))
        .toMessage(timestamp);
  }

  private StructType keyType() {
    StructType type = new StructType();
    for (int ordinal : relation.key()) {
      Program.Slot column = relation.columns().get(ordinal);
      type = type.add(column.name(), column.type(), true);
    }
    return type;
  }

  private InternalRow keyOf(UnsafeRow row) {
    Object[] key = new Object[relation.key().length];
    for (int i = 0; i < key.length; i++) {
      int ordinal = relation.key()[i];
      DataType type = relation.columns().get(ordinal).type();
      key[i] = row.isNullAt(ordinal) ? null : row.get(ordinal, type);
    }
    return new GenericInternalRow(key);
  }
}
