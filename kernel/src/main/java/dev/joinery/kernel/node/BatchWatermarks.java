package dev.joinery.kernel.node;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.joinery.kernel.message.LogPartition;
import dev.joinery.kernel.message.Marks;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.spark.TaskContext;

/** How far relations had come in time before a batch, as the driver tells the batch's tasks. */
public final class BatchWatermarks {
  /**
   * {@code {relation: {"watermark": micros, "idle": [partition…], "ended": [[watermark, newest]…]}}}:
   * what never falls, which partitions nobody waits for in this batch, unless it brings something
   * of them, and when logs were taken as ended.
   */
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
    return byRelation.path(relation).path("watermark").asLong(Marks.UNKNOWN);
  }

  /** How far a relation had come. */
  public Reached reached(String relation) {
    List<Reached.End> ends = new ArrayList<>();
    for (JsonNode each : byRelation.path(relation).path("ended")) {
      ends.add(new Reached.End(each.get(0).asLong(Marks.UNKNOWN), each.get(1).asLong()));
    }
    return new Reached(of(relation), ends);
  }

  /** Whether nobody waits for any partition of a relation's log. */
  boolean isSilent(String relation) {
    return byRelation.path(relation).path("silent").asBoolean(false);
  }

  /** The partitions of a relation's log that nobody waits for. */
  Set<Long> idle(String relation) {
    Set<Long> idle = new HashSet<>();
    for (JsonNode each : byRelation.path(relation).path("idle")) {
      idle.add(LogPartition.numberOf(each.asText()));
    }
    return idle;
  }
}
