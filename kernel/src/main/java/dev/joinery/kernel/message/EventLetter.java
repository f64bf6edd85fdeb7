package dev.joinery.kernel.message;

import dev.joinery.kernel.bytes.BinaryRow;
import java.util.Arrays;
import java.util.stream.IntStream;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** Tells as a dead letter why an event cannot go on in its stream; remembers nothing. */
public final class EventLetter {
  private final String stream;
  private final StructType key;
  private final StructType row;
  private final int[] places;
  private final StructType told;

  public EventLetter(String stream, StructType key, StructType row) {
    this(stream, key, row, null);
  }

  /**
   * Letters of events, each with its columns.
   *
   * @param hidden places in {@code row} of the columns that letters leave out, or null
   */
  public EventLetter(String stream, StructType key, StructType row, int[] hidden) {
    this.stream = stream;
    this.key = key;
    this.row = row;
    this.places =
        IntStream.range(0, row.length())
            .filter(each -> hidden == null || Arrays.stream(hidden).noneMatch(at -> at == each))
            .toArray();
    this.told =
        new StructType(
            Arrays.stream(places).mapToObj(each -> row.fields()[each]).toArray(StructField[]::new));
  }

  public byte[] of(Event event, String reason, String detail) {
    return new DeadLetter(reason, detail)
        .put("stream", stream)
        .time(event.timestamp())
        .put("key", key, BinaryRow.of(event.key(), key.length()))
        .put("value", told, columns(BinaryRow.of(event.row(), row.length())))
        .toMessage(event.timestamp());
  }

  private InternalRow columns(InternalRow whole) {
    Object[] values = new Object[places.length];
    for (int i = 0; i < values.length; i++) {
      int at = places[i];
      values[i] = whole.isNullAt(at) ? null : whole.get(at, row.fields()[at].dataType());
    }
    return new GenericInternalRow(values);
  }
}
