package dev.joinery.kernel.kafka;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.Closeable;
import java.io.IOException;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Looks by what the records at some offsets are known, as no member of a group. One thread uses it.
 *
 * <p>It calls Kafka's client, so it is loaded where that is seen, unlike the rest of the kernel.
 */
public final class RecordLook implements Closeable {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final Duration POLL = Duration.ofMillis(500);

  /** Of each partition one record is wanted; a fetch has room for what a producer sends at once. */
  private static final Map<String, Object> OWN_PROPERTIES =
      Map.of(
          "enable.auto.commit", "false",
          "auto.offset.reset", "none",
          "isolation.level", "read_uncommitted", // an open transaction has other records, too
          "max.poll.records", "1",
          "max.partition.fetch.bytes", "32768",
          "fetch.max.wait.ms", "50",
          "metric.reporters", "",
          "auto.include.jmx.reporter", "false",
          "enable.metrics.push", "false");

  private final KafkaConsumer<byte[], byte[]> consumer;

  /** Takes properties of Kafka's client, with {@code bootstrap.servers} among them. */
  public RecordLook(Map<String, String> properties) {
    Map<String, Object> all = new HashMap<>(properties);
    all.putAll(OWN_PROPERTIES);
    consumer =
        new KafkaConsumer<>(all, new ByteArrayDeserializer(), new ByteArrayDeserializer());
  }

  /**
   * Returns what stands at offsets, in the form of {@link RecordsRead#take}: where an offset has no
   * record, the next one of its partition, or none.
   *
   * @param offsets of records that were there, as JSON by topic and partition
   * @param silentMillis how long nothing may come
   */
  public String at(String offsets, long silentMillis) throws IOException {
    Map<TopicPartition, Long> left = places(offsets);
    ObjectNode found = JSON.createObjectNode();
    consumer.assign(left.keySet());
    left.forEach(consumer::seek);
    for (long heard = System.nanoTime(); !left.isEmpty(); ) {
      ConsumerRecords<byte[], byte[]> records = consumer.poll(POLL);
      int before = left.size();
      for (ConsumerRecord<byte[], byte[]> each : records) {
        TopicPartition place = new TopicPartition(each.topic(), each.partition());
        consumer.pause(List.of(place)); // What was fetched beyond is not read.
        left.remove(place);
        told(each, place).tell(found);
      }
      if (records.isEmpty()) {
        left.entrySet().removeIf(each -> consumer.position(each.getKey()) > each.getValue());
      }
      if (left.size() < before) {
        heard = System.nanoTime();
      } else if (System.nanoTime() - heard > silentMillis * 1_000_000) {
        throw new IOException("nothing came within " + silentMillis / 1000 + " s");
      }
    }
    consumer.unsubscribe();
    return found.toString();
  }

  private static Map<TopicPartition, Long> places(String offsets) throws IOException {
    Map<TopicPartition, Long> places = new HashMap<>();
    for (Map.Entry<String, JsonNode> topic : JSON.readTree(offsets).properties()) {
      for (Map.Entry<String, JsonNode> each : topic.getValue().properties()) {
        int partition = Integer.parseInt(each.getKey());
        places.put(new TopicPartition(topic.getKey(), partition), each.getValue().asLong());
      }
    }
    return places;
  }

  private static LastRecord told(ConsumerRecord<byte[], byte[]> record, TopicPartition place) {
    return new LastRecord(
        place.topic(),
        place.partition(),
        record.offset(),
        record.timestamp(),
        LastRecord.sum(record.key()),
        LastRecord.sum(record.value()));
  }

  @Override
  public void close() {
    consumer.close(Duration.ZERO);
  }
}
