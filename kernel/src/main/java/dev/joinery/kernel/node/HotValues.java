package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.BinaryRow;
import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.KeyCodec;
import dev.joinery.kernel.bytes.Slice;
import java.util.TreeSet;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.DataType;

/** The join values whose children a parent is not told, in order. */
final class HotValues {
  private final KeyCodec codec;
  private final int columns;
  private final UnsafeProjection projection;
  private final TreeSet<Slice> values = new TreeSet<>();

  /** {@code types} are those of a value, {@code list} that of a list of them; null for no list. */
  HotValues(DataType[] types, DataType list) {
    this.codec = KeyCodec.of(types);
    this.columns = types.length;
    this.projection = list == null ? null : UnsafeProjection.create(new DataType[] {list});
  }

  void read(ByteReader in) {
    values.clear();
    int size = in == null ? 0 : in.readVarInt();
    for (int i = 0; i < size; i++) {
      values.add(in.readBlob());
    }
  }

  void write(ByteWriter out) {
    out.writeVarInt(values.size());
    values.forEach(out::writeBlob);
  }

  boolean isEmpty() {
    return values.isEmpty();
  }

  void add(Slice value) {
    values.add(value.detach());
  }

  void remove(Slice value) {
    values.remove(value);
  }

  /** A row with the list; empty where the list is. */
  Slice row() {
    if (projection == null || values.isEmpty()) {
      return Slice.EMPTY;
    }
    Object[] told = values.stream().map(this::told).toArray();
    Object[] row = {new GenericArrayData(told)};
    return BinaryRow.copy(projection.apply(new GenericInternalRow(row)));
  }

  private Object told(Slice value) {
    Object[] decoded = codec.decode(value);
    return columns == 1 ? decoded[0] : new GenericInternalRow(decoded);
  }
}
