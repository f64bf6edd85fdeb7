package dev.joinery.kernel.kafka;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ListOffsetsOptions;
import org.apache.kafka.clients.admin.ListOffsetsResult.ListOffsetsResultInfo;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.common.IsolationLevel;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.TopicPartitionInfo;

/**
 * Asks where topics begin and end, of all partitions at once. Like {@link RecordLook}, it is loaded
 * where Kafka's client is seen.
 */
public final class TopicEdges {
  private static final ObjectMapper JSON = new ObjectMapper();

  private final Admin admin;

  public TopicEdges(Admin admin) {
    this.admin = admin;
  }

  /**
   * Returns the edges of topics that are there, as JSON by topic and partition: {@code [first,
   * end]}.
   *
   * @param committed a partition ends where an open transaction begins
   */
  public String of(Collection<String> topics, boolean committed)
      throws ExecutionException, InterruptedException {
    Map<String, TopicDescription> described = admin.describeTopics(topics).allTopicNames().get();
    Map<TopicPartition, ListOffsetsResultInfo> first =
        offsets(described, OffsetSpec.earliest(), IsolationLevel.READ_UNCOMMITTED);
    IsolationLevel level =
        committed ? IsolationLevel.READ_COMMITTED : IsolationLevel.READ_UNCOMMITTED;
    Map<TopicPartition, ListOffsetsResultInfo> end =
        offsets(described, OffsetSpec.latest(), level);
    ObjectNode edges = JSON.createObjectNode();
    for (TopicDescription topic : new TreeMap<>(described).values()) {
      ObjectNode partitions = edges.putObject(topic.name());
      for (TopicPartitionInfo each : topic.partitions()) {
        TopicPartition place = new TopicPartition(topic.name(), each.partition());
        partitions
            .putArray(Integer.toString(each.partition()))
            .add(first.get(place).offset())
            .add(end.get(place).offset());
      }
    }
    return edges.toString();
  }

  private Map<TopicPartition, ListOffsetsResultInfo> offsets(
      Map<String, TopicDescription> topics, OffsetSpec edge, IsolationLevel level)
      throws ExecutionException, InterruptedException {
    Map<TopicPartition, OffsetSpec> wanted = new HashMap<>();
    for (TopicDescription topic : topics.values()) {
      for (TopicPartitionInfo each : topic.partitions()) {
        wanted.put(new TopicPartition(topic.name(), each.partition()), edge);
      }
    }
    return admin.listOffsets(wanted, new ListOffsetsOptions(level)).all().get();
  }
}
