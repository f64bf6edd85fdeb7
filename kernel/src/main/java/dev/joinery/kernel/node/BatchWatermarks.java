package dev.joinery.kernel.node;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.joinery.kernel.message.Marks;
import org.apache.spark.TaskContext;

/** How far relations had come in time before a batch, as the driver tells the batch's tasks. */
public final class BatchWatermarks {
  /** {@code {relation: micros}}: what never falls, and waits for no partition that is idle. */
  private static final String PROPERTY = "joinery.watermarks";

  private static final ObjectMapper JSON = new ObjectMapper();

  private final JsonNode byRelation;

  private BatchWatermarks(JsonNode byRelation) {
    this.byRelation = byRelation;
  }

  /** Of the batch of the task at work; none where there is no task. */
  public static BatchWatermarks here() {
    return read(told());
  }

  /** As {@link #told} gives them. */
  public static BatchWatermarks read(String told) {
    try {
      return new BatchWatermarks(JSON.readTree(told == null ? "{}" : told));
    } catch (JsonProcessingException notJson) {
      throw new IllegalArgumentException(PROPERTY + " is not JSON", notJson);
    }
  }

  /** As the driver told them; null for nothing. */
  public static String told() {
    TaskContext task = TaskContext.get();
    return task == null ? null : task.getLocalProperty(PROPERTY);
  }

  /** {@link Marks#UNKNOWN} for a relation without one. */
  public long of(String relation) {
    return byRelation.path(relation).asLong(Marks.UNKNOWN);
  }
}
