package dev.joinery.kernel.render;

import java.nio.charset.StandardCharsets;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.NullType;
import org.apache.spark.sql.types.NumericType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** How many bytes a value of a type has at least, as {@link JsonWriter} writes it. */
public final class LeastJson {
  private static final int NULL = 4;

  private LeastJson() {}

  /** Of an object of a type. */
  public static int of(StructType type) {
    int bytes = 2 + Math.max(0, type.length() - 1);
    for (StructField field : type.fields()) {
      int name = field.name().getBytes(StandardCharsets.UTF_8).length;
      bytes += name + "\"\":".length() + Math.min(NULL, of(field.dataType()));
    }
    return bytes;
  }

  private static int of(DataType type) {
    if (type instanceof StructType struct) {
      return of(struct);
    } else if (type instanceof NumericType) {
      return 1;
    } else if (type instanceof BooleanType || type instanceof NullType) {
      return NULL;
    } else if (type instanceof ArrayType || type instanceof MapType) {
      return "[]".length();
    }
    return "\"\"".length(); // All others are texts.
  }
}
