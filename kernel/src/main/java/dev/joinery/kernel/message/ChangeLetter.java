package dev.joinery.kernel.message;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.joinery.kernel.bytes.BinaryRow;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.program.Program;
import dev.joinery.kernel.render.ByteSink;
import dev.joinery.kernel.render.JsonWriter;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
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
    int columns = relation.columns().size();
    ObjectNode letter = JsonNodeFactory.instance.objectNode();
    letter.put("reason", reason);
    letter.put("detail", detail);
    letter.put("relation", relation.name());
    letter.put("time", Instant.EPOCH.plus(timestamp, ChronoUnit.MICROS).toString());
    letter.put("key", text(keyType(), keyOf(BinaryRow.of(row, columns))));
    letter.put("value", delete ? null : text(relation.decoded(), BinaryRow.of(row, columns)));
    return Message.deadLetter(timestamp, letter.toString().getBytes(StandardCharsets.UTF_8));
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

  private static String text(StructType type, InternalRow row) {
    ByteSink out = new ByteSink(256);
    new JsonWriter(type).write(row, out);
    return new String(out.array(), 0, out.size(), StandardCharsets.UTF_8);
  }
}
