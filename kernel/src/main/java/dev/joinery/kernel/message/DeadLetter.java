package dev.joinery.kernel.message;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.joinery.kernel.render.ByteSink;
import dev.joinery.kernel.render.JsonWriter;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructType;

/** Builds the JSON of one dead letter, a field after the other. */
public final class DeadLetter {
  private final ObjectNode json = JsonNodeFactory.instance.objectNode();

  /** {@code detail} is a sentence that says what is wrong. */
  public DeadLetter(String reason, String detail) {
    json.put("reason", reason).put("detail", detail);
  }

  /** {@code value} may be null. */
  public DeadLetter put(String name, String value) {
    json.put(name, value);
    return this;
  }

  public DeadLetter put(String name, long value) {
    json.put(name, value);
    return this;
  }

  public DeadLetter put(String name, boolean value) {
    json.put(name, value);
    return this;
  }

  /** Puts a row as the text of its JSON. */
  public DeadLetter put(String name, StructType type, InternalRow row) {
    ByteSink out = new ByteSink(256);
    new JsonWriter(type).write(row, out);
    return put(name, new String(out.array(), 0, out.size(), StandardCharsets.UTF_8));
  }

  /** Puts the time at which the letter is written, in microseconds since 1970. */
  public DeadLetter time(long micros) {
    return put("time", Instant.EPOCH.plus(micros, ChronoUnit.MICROS).toString());
  }

  public byte[] toBytes() {
    return json.toString().getBytes(StandardCharsets.UTF_8);
  }

  /** The letter as a message that leaves the chain. */
  public byte[] toMessage(long timestamp) {
    return Message.deadLetter(timestamp, toBytes());
  }
}
