package dev.joinery.kernel.format;

import java.nio.ByteBuffer;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.catalyst.expressions.UnsafeArrayData;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeArrayWriter;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeWriter;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.unsafe.Platform;

/** Writes structs, lists and maps, once it is known where in the record their values stand. */
final class Containers {
  private Containers() {}

  /**
   * What may stand in a container.
   *
   * @param reader null where the record never has it
   */
  record Slot(Target target, ValueReader reader) {}

  /** Writes a struct; fields that are absent become null. */
  static void struct(
      Spans spans, List<String> names, Slot[] fields, UnsafeWriter out, int ordinal) {
    int start = out.cursor();
    UnsafeRowWriter row = new UnsafeRowWriter(out, fields.length);
    row.resetRowWriter();
    for (int i = 0; i < fields.length; i++) {
      if (spans.absent(i)) {
        fields[i].target.writeNull(row, i);
      } else {
        read(fields[i], names.get(i), spans, i, row);
      }
    }
    out.setOffsetAndSizeFromPreviousCursor(ordinal, start);
  }

  static void list(Spans spans, Slot element, UnsafeWriter out, int ordinal) {
    int start = out.cursor();
    array(spans, element, out);
    out.setOffsetAndSizeFromPreviousCursor(ordinal, start);
  }

  /** Writes a map; a key that is null, or is there twice in whatever spelling, is refused. */
  static void map(
      MapType type,
      Spans keys,
      Slot key,
      Spans values,
      Slot value,
      UnsafeWriter out,
      int ordinal) {
    int start = out.cursor();
    out.grow(8);
    out.increaseCursor(8);
    array(keys, key, out);
    int size = out.cursor() - start - 8;
    Platform.putLong(out.getBuffer(), start, size);
    UnsafeArrayData written = new UnsafeArrayData();
    written.pointTo(out.getBuffer(), start + 8L, size);
    requireKeys(written, type.keyType());
    array(values, value, out);
    out.setOffsetAndSizeFromPreviousCursor(ordinal, start);
  }

  private static void requireKeys(UnsafeArrayData keys, DataType type) {
    Set<Object> seen = new HashSet<>();
    for (int i = 0; i < keys.numElements(); i++) {
      if (keys.isNullAt(i)) {
        throw Rejected.wrongType("a map with a key that is null");
      }
      Object key = keys.get(i, type);
      if (!seen.add(key instanceof byte[] bytes ? ByteBuffer.wrap(bytes) : key)) {
        throw Rejected.wrongType("a map with a key twice");
      }
    }
  }

  private static void array(Spans spans, Slot element, UnsafeWriter out) {
    UnsafeArrayWriter array = new UnsafeArrayWriter(out, element.target.elementBytes());
    array.initialize(spans.size);
    for (int i = 0; i < spans.size; i++) {
      read(element, "[]", spans, i, array);
    }
  }

  private static void read(Slot slot, String name, Spans spans, int index, UnsafeWriter out) {
    try {
      spans.read(index, slot.reader, out, index);
    } catch (Rejected rejected) {
      throw rejected.in(name);
    }
  }
}
