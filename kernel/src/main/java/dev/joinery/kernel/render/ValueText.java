package dev.joinery.kernel.render;

import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.types.DataType;

/** Writes values of one type as JSON, each alone; used by one thread. */
public final class ValueText {
  private final ValueWriter writer;
  private final ByteSink out = new ByteSink(64);

  public ValueText(DataType type) {
    writer = ValueWriter.of(type);
  }

  /** The JSON of a value that is not null. */
  public byte[] of(SpecializedGetters values, int ordinal) {
    out.clear();
    writer.write(values, ordinal, out);
    return out.toByteArray();
  }
}
