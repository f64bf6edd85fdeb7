package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.BinaryRow;
import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.KeyCodec;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.program.CompiledAggregate;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataType;
import scala.jdk.javaapi.CollectionConverters;

/**
 * What an aggregate keeps of a row, as bytes: the sortable code of the value itself, or, where rows
 * have an order, that of the row's place in it and the value behind.
 */
final class RowCode {
  private final Expression argument;
  private final int ordinal;
  private final DataType type;
  private final KeyCodec codec;
  private final UnsafeProjection value;
  private final ByteWriter out = new ByteWriter(64);

  RowCode(CompiledAggregate plan) {
    this.argument = plan.argument();
    this.ordinal = argument instanceof BoundReference column ? column.ordinal() : 0;
    this.type = argument.dataType();
    if (plan.order() == null) {
      this.codec = new KeyCodec(List.of(new KeyCodec.Column(ordinal, type, type, false)));
      this.value = null;
    } else {
      this.codec = plan.order();
      this.value =
          UnsafeProjection.create(
              CollectionConverters.asScala(
                      List.<Expression>of(new BoundReference(ordinal, type, true)))
                  .toSeq());
    }
  }

  /**
   * What holds the value of a row: the row itself, as in groups, or where the value is computed, a
   * row of it alone.
   */
  InternalRow given(UnsafeRow row) {
    return argument instanceof BoundReference
        ? row
        : new GenericInternalRow(new Object[] {argument.eval(row)});
  }

  /** {@code given} as {@link #given} makes it. */
  boolean isNull(InternalRow given) {
    return given.isNullAt(ordinal);
  }

  /** The code of a row; {@code place} is behind its order, where that decides. */
  Slice of(UnsafeRow row, InternalRow given, Slice place) {
    return write(out.reset(), row, given, place);
  }

  /** The same behind the number of a set. */
  Slice of(int set, UnsafeRow row, InternalRow given, Slice place) {
    return write(out.reset().writeByte(set), row, given, place);
  }

  private Slice write(ByteWriter out, UnsafeRow row, InternalRow given, Slice place) {
    codec.encode(value == null ? given : row, out);
    if (value != null) {
      UnsafeRow only = value.apply(given);
      byte[] bytes = BinaryRow.copy(only).toBytes();
      out.writeRaw(place).writeRaw(bytes).writeInt(bytes.length);
    }
    return Slice.of(out.toBytes());
  }

  /** The value of a code, in Spark's internal form. */
  Object valueOf(Slice code) {
    if (value == null) {
      return codec.decode(code)[0];
    }
    int end = code.length() - Integer.BYTES;
    int size = new ByteReader(code.sub(end, Integer.BYTES)).readInt();
    return BinaryRow.of(code.sub(end - size, size).detach(), 1).get(0, type);
  }

  /** The values of codes, as the elements of a list. */
  Object[] valuesOf(Iterable<Slice> codes) {
    List<Object> values = new ArrayList<>();
    codes.forEach(each -> values.add(valueOf(each)));
    return values.toArray();
  }
}
