package dev.joinery.kernel.stream;

import dev.joinery.kernel.bytes.BinaryRow;
import dev.joinery.kernel.bytes.KeyCodec;
import dev.joinery.kernel.bytes.Slice;
import java.util.Arrays;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * The order of events of one time, as sortable bytes: that of their keys, or in a log without key
 * that of their places, {@code topic/partition/offset} or {@code topic/file/line}.
 */
final class EventOrder {
  private static final String PLACE = "place";
  private static final KeyCodec PLACES =
      KeyCodec.of(
          new DataType[] {
            DataTypes.StringType, DataTypes.LongType, DataTypes.StringType, DataTypes.LongType
          });

  private final boolean placed;
  private final KeyCodec keys;
  private final UnsafeRow row;

  EventOrder(StructType key) {
    this.placed = key.length() == 1 && key.fields()[0].name().equals(PLACE);
    this.keys =
        KeyCodec.of(
            Arrays.stream(key.fields()).map(StructField::dataType).toArray(DataType[]::new));
    this.row = new UnsafeRow(key.length());
  }

  /** Of an event, by what identifies it. */
  Slice of(Slice identity) {
    BinaryRow.point(row, identity);
    return Slice.of(placed ? ofPlace(row.getUTF8String(0).toString()) : keys.encode(row));
  }

  private static byte[] ofPlace(String text) {
    int last = text.lastIndexOf('/');
    int first = last < 0 ? -1 : text.lastIndexOf('/', last - 1);
    Long number = last < 0 ? null : numberOf(text.substring(last + 1));
    if (first < 0 || number == null) {
      return places(text, null, "", 0L);
    }
    String log = text.substring(first + 1, last);
    return places(text.substring(0, first), numberOf(log), log, number);
  }

  private static byte[] places(String topic, Long partition, String log, Long number) {
    Object[] columns = {
      UTF8String.fromString(topic), partition, UTF8String.fromString(log), number
    };
    return PLACES.encode(new GenericInternalRow(columns));
  }

  private static Long numberOf(String text) {
    boolean digits = !text.isEmpty() && text.chars().allMatch(each -> each >= '0' && each <= '9');
    return digits && text.length() < 19 ? Long.valueOf(text) : null;
  }
}
