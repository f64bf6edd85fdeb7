package dev.joinery.kernel.files;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.sql.connector.read.streaming.Offset;

/** How far all topics have been read; a topic no longer asked for keeps its place. */
final class FilesOffset extends Offset {
  private static final int FORMAT = 1;
  private static final ObjectMapper JSON = new ObjectMapper();

  final Map<String, Progress> topics;
  private final String json;

  FilesOffset(Map<String, Progress> topics) {
    this.topics = new TreeMap<>(topics);
    ObjectNode node = JsonNodeFactory.instance.objectNode().put("format", FORMAT);
    ObjectNode each = node.putObject("topics");
    this.topics.forEach((name, progress) -> each.set(name, progress.toJson()));
    json = node.toString();
  }

  static FilesOffset of(String json) {
    JsonNode node;
    try {
      node = JSON.readTree(json);
    } catch (JsonProcessingException notJson) {
      throw new FilesError("the checkpoint's offset is not one of the files source", notJson);
    }
    if (node.path("format").asInt() != FORMAT) {
      throw new FilesError(
          "the checkpoint's offset was written by another source or version: start from a new"
              + " checkpoint, or go back to what wrote it");
    }
    Map<String, Progress> topics = new TreeMap<>();
    node.path("topics")
        .properties()
        .forEach(each -> topics.put(each.getKey(), Progress.ofJson(each.getValue())));
    return new FilesOffset(topics);
  }

  static FilesOffset of(Offset offset) {
    return offset instanceof FilesOffset ours ? ours : of(offset.json());
  }

  /** Returns the same offset; a file that was being written and is complete by now has its number. */
  FilesOffset completedIn(FileCatalog catalog) {
    if (topics.values().stream().allMatch(each -> each.tail() == null)) {
      return this;
    }
    Map<String, Progress> after = new TreeMap<>(topics);
    after.replaceAll((topic, progress) -> completedIn(catalog, topic, progress));
    return new FilesOffset(after);
  }

  private static Progress completedIn(FileCatalog catalog, String topic, Progress progress) {
    KnownFile file = progress.tail() == null ? null : catalog.numbered(topic, progress.tail().file());
    return file == null ? progress : progress.completed(file);
  }

  /**
   * Returns, by topic, the names of files that are not complete yet, and of which more was read
   * than at {@code start}.
   */
  Map<String, String> tailsSince(FilesOffset start) {
    Map<String, String> files = new TreeMap<>();
    topics.forEach(
        (topic, progress) -> {
          if (isTailSince(progress.tail(), start.topic(topic).tail())) {
            files.put(topic, progress.tail().file());
          }
        });
    return files;
  }

  private static boolean isTailSince(Progress.Tail tail, Progress.Tail start) {
    return tail != null && !tail.equals(start);
  }

  Progress topic(String name) {
    return topics.getOrDefault(name, Progress.none());
  }

  @Override
  public String json() {
    return json;
  }
}
