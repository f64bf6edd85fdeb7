package dev.joinery.kernel.format;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeArrayWriter;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeWriter;
import org.apache.spark.unsafe.Platform;

/** The readers of Avro's records, lists and maps; fields not declared are ignored. */
final class AvroContainers {
  private AvroContainers() {}

  /** What a list's or a map's entries are: as what they are declared, and how they are read. */
  record Entry(ValueReader declared, AvroReader reader, AvroSkips.Skip skip) {}

  /**
   * @param declared the declared fields' readers, for their nulls
   */
  static AvroReader struct(AvroRecord record, List<String> names, ValueReader[] declared) {
    int[] from = new int[declared.length];
    int[] to = new int[declared.length];
    return (in, out, ordinal) -> {
      record.scan(in, from, to);
      int after = in.at;
      int start = out.cursor();
      UnsafeRowWriter row = new UnsafeRowWriter(out, declared.length);
      row.resetRowWriter();
      for (int i = 0; i < declared.length; i++) {
        if (from[i] < 0) {
          declared[i].writeNull(row, i);
          continue;
        }
        in.at = from[i];
        try {
          record.readers[i].read(in, row, i);
        } catch (Rejected rejected) {
          throw rejected.in(names.get(i));
        }
      }
      out.setOffsetAndSizeFromPreviousCursor(ordinal, start);
      in.at = after;
    };
  }

  static AvroReader list(Entry element) {
    return (in, out, ordinal) -> {
      Starts starts = new Starts();
      for (int count = in.readBlock(); count > 0; count = in.readBlock()) {
        for (int i = 0; i < count; i++) {
          starts.add(in.at);
          element.skip.skip(in);
        }
      }
      int after = in.at;
      int start = out.cursor();
      write(starts, element, in, out);
      out.setOffsetAndSizeFromPreviousCursor(ordinal, start);
      in.at = after;
    };
  }

  /** A map, or the list of pairs as which Kafka Connect writes one whose keys are no texts. */
  static AvroReader map(Entry key, Entry value) {
    return (in, out, ordinal) -> {
      Starts keys = new Starts();
      Starts values = new Starts();
      Set<ByteBuffer> seen = new HashSet<>();
      for (int count = in.readBlock(); count > 0; count = in.readBlock()) {
        for (int i = 0; i < count; i++) {
          keys.add(in.at);
          key.skip.skip(in);
          int from = keys.at[keys.size - 1];
          if (!seen.add(ByteBuffer.wrap(in.bytes, from, in.at - from))) {
            throw Rejected.wrongType("a map with a key twice");
          }
          values.add(in.at);
          value.skip.skip(in);
        }
      }
      int after = in.at;
      int start = out.cursor();
      out.grow(8);
      out.increaseCursor(8);
      write(keys, key, in, out);
      Platform.putLong(out.getBuffer(), start, out.cursor() - start - 8L);
      write(values, value, in, out);
      out.setOffsetAndSizeFromPreviousCursor(ordinal, start);
      in.at = after;
    };
  }

  private static void write(Starts starts, Entry element, AvroCursor in, UnsafeWriter out) {
    UnsafeArrayWriter array = new UnsafeArrayWriter(out, element.declared.elementBytes());
    array.initialize(starts.size);
    for (int i = 0; i < starts.size; i++) {
      in.at = starts.at[i];
      try {
        element.reader.read(in, array, i);
      } catch (Rejected rejected) {
        throw rejected.in("[]");
      }
    }
  }

  /** Where entries begin. */
  private static final class Starts {
    int[] at = new int[8];
    int size;

    void add(int start) {
      if (size == at.length) {
        at = Arrays.copyOf(at, 2 * size);
      }
      at[size++] = start;
    }
  }
}
