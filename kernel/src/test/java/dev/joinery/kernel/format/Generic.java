package dev.joinery.kernel.format;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructType;

/** Copies rows into objects, so that Spark has to encode all of them anew. */
final class Generic {
  private Generic() {}

  static InternalRow copy(InternalRow row, StructType type) {
    Object[] values = new Object[type.length()];
    for (int i = 0; i < values.length; i++) {
      values[i] = copy(row, i, type.fields()[i].dataType());
    }
    return new GenericInternalRow(values);
  }

  private static Object copy(SpecializedGetters from, int i, DataType type) {
    if (from.isNullAt(i)) {
      return null;
    } else if (type instanceof StructType struct) {
      return copy(from.getStruct(i, struct.length()), struct);
    } else if (type instanceof ArrayType array) {
      return copy(from.getArray(i), array.elementType());
    } else if (type instanceof MapType map) {
      MapData data = from.getMap(i);
      return new ArrayBasedMapData(
          copy(data.keyArray(), map.keyType()), copy(data.valueArray(), map.valueType()));
    }
    return from.get(i, type);
  }

  private static ArrayData copy(ArrayData array, DataType element) {
    Object[] values = new Object[array.numElements()];
    for (int i = 0; i < values.length; i++) {
      values[i] = copy(array, i, element);
    }
    return new GenericArrayData(values);
  }
}
