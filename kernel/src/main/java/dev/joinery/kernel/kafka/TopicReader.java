package dev.joinery.kernel.kafka;

import java.io.Closeable;
import java.io.IOException;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Reads records of topics from one offset to another, as no member of a group; nothing is committed.
 * One thread uses it.
 *
 * <p>Only this class, {@link RecordLook} and {@link TopicEdges} call Kafka's client, so that a
 * process that reads no topic does without it.
 */
public final class TopicReader implements Closeable {
  private static final Duration POLL = Duration.ofMillis(500);
  private static final long SILENT_NANOS = 60_000_000_000L;

  /** Beneath those of the source. */
  private static final Map<String, Object> PROPERTIES =
      Map.of(
          "isolation.level", "read_committed",
          "max.poll.records", "4000",
          "receive.buffer.bytes", "1048576");

  private static final Map<String, Object> OWN_PROPERTIES =
      Map.of(
          "enable.auto.commit", "false",
          "auto.offset.reset", "earliest",
          "metric.reporters", "",
          "auto.include.jmx.reporter", "false",
          "enable.metrics.push", "false");

  /** Takes records, which are no longer needed when it returns. */
  public interface Taker {
    /** {@code loggedMillis}: since 1970; below 0 where the log tells none. */
    void take(long offset, long loggedMillis, byte[] key, byte[] value) throws IOException;
  }

  private final KafkaConsumer<byte[], byte[]> consumer;

  /** Takes properties of Kafka's client, with {@code bootstrap.servers} among them. */
  public TopicReader(Map<String, String> properties) {
    Map<String, Object> all = new HashMap<>(PROPERTIES);
    all.putAll(properties);
    all.putAll(OWN_PROPERTIES);
    consumer =
        new KafkaConsumer<>(all, new ByteArrayDeserializer(), new ByteArrayDeserializer());
  }

  /** Reads the records from one offset on that stand before another. */
  public void read(String topic, int partition, long from, long to, Taker taker)
      throws IOException {
    TopicPartition place = new TopicPartition(topic, partition);
    consumer.assign(List.of(place));
    consumer.seek(place, from);
    // What stands before the end may be markers of transactions, which are passed over unseen.
    for (long at = from, heard = System.nanoTime(); at < to; ) {
      for (ConsumerRecord<byte[], byte[]> each : consumer.poll(POLL)) {
        if (each.offset() < to) {
          taker.take(each.offset(), each.timestamp(), each.key(), each.value());
        }
      }
      long reached = consumer.position(place);
      if (reached > at) {
        heard = System.nanoTime();
      } else if (System.nanoTime() - heard > SILENT_NANOS) {
        throw new IOException("Error: nothing comes from " + place + " at offset " + at);
      }
      at = reached;
    }
  }

  @Override
  public void close() {
    consumer.close(Duration.ZERO);
  }
}
