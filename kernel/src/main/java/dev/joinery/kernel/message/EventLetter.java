package dev.joinery.kernel.message;

import dev.joinery.kernel.bytes.BinaryRow;
import org.apache.spark.sql.types.StructType;

/** Tells as a dead letter why an event cannot go on in its stream; remembers nothing. */
public final class EventLetter {
  private final String stream;
  private final StructType key;
  private final StructType row;

  public EventLetter(String stream, StructType key, StructType row) {
    this.stream = stream;
    this.key = key;
    this.row = row;
  }

  public byte[] of(Event event, String reason, String detail) {
    return new DeadLetter(reason, detail)
        .put("stream", stream)
        .time(event.timestamp())
        .put("key", key, BinaryRow.of(event.key(), key.length()))
        .put("value", row, BinaryRow.of(event.row(), row.length()))
        .toMessage(event.timestamp());
  }
}
