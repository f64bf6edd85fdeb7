package dev.joinery.kernel.node;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.joinery.kernel.message.LogPartition;
import dev.joinery.kernel.message.Marks;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.TaskContext;

/** The newest times in the partitions of logs before a batch, as the driver tells the batch's tasks. */
public final class NewestTimes {
  /** {@code {relation: {partition: micros}}}. */
  private static final String PROPERTY = "joinery.newest";

  private static final ObjectMapper JSON = new ObjectMapper();

  private final JsonNode byRelation;

  private NewestTimes(JsonNode byRelation) {
    this.byRelation = byRelation;
  }

  /** Of the batch of the task at work; none where there is no task. */
  public static NewestTimes here() {
    TaskContext task = TaskContext.get();
    String told = task == null ? null : task.getLocalProperty(PROPERTY);
    try {
      return new NewestTimes(JSON.readTree(told == null ? "{}" : told));
    } catch (JsonProcessingException notJson) {
      throw new IllegalArgumentException(PROPERTY + " is not JSON", notJson);
    }
  }

  /** In a partition of a relation's log; {@link Marks#UNKNOWN} where none had come. */
  public long of(String relation, String partition) {
    return byRelation.path(relation).path(partition).asLong(Marks.UNKNOWN);
  }

  /** In all partitions of a relation's log in which one had come, by their numbers. */
  public Map<Long, Long> of(String relation) {
    Map<Long, Long> found = new TreeMap<>();
    byRelation
        .path(relation)
        .fields()
        .forEachRemaining(
            each -> found.put(LogPartition.numberOf(each.getKey()), each.getValue().asLong()));
    return found;
  }
}
