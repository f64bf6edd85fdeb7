package dev.joinery.kernel.message;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.joinery.kernel.bytes.BinaryRow;
import dev.joinery.kernel.render.ByteSink;
import dev.joinery.kernel.render.JsonWriter;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import org.apache.spark.sql.catalyst.InternalRow;
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
    ObjectNode letter = JsonNodeFactory.instance.objectNode();
    letter.put("reason", reason);
    letter.put("detail", detail);
    letter.put("stream", stream);
    letter.put("time", Instant.EPOCH.plus(event.timestamp(), ChronoUnit.MICROS).toString());
    letter.put("key", text(key, BinaryRow.of(event.key(), key.length())));
    letter.put("value", text(row, BinaryRow.of(event.row(), row.length())));
    return Message.deadLetter(
        event.timestamp(), letter.toString().getBytes(StandardCharsets.UTF_8));
  }

  private static String text(StructType type, InternalRow row) {
    ByteSink out = new ByteSink(256);
    new JsonWriter(type).write(row, out);
    return new String(out.array(), 0, out.size(), StandardCharsets.UTF_8);
  }
}
