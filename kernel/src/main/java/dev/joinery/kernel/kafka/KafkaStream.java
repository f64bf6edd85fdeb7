package dev.joinery.kernel.kafka;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.joinery.kernel.admission.BatchSize;
import dev.joinery.kernel.admission.BoundedLog;
import dev.joinery.kernel.admission.Rest;
import dev.joinery.kernel.admission.WatchedLog;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.PartitionOffset;
import org.apache.spark.sql.connector.read.streaming.ReadAllAvailable;
import org.apache.spark.sql.connector.read.streaming.ReadLimit;
import org.apache.spark.sql.connector.read.streaming.ReportsSourceMetrics;
import org.apache.spark.sql.connector.read.streaming.SupportsRealTimeMode;
import org.apache.spark.sql.connector.read.streaming.SupportsTriggerAvailableNow;

/**
 * Topics as a stream: Spark's connector reads them, and is told how many records a batch takes.
 *
 * <p>A topic counts records, not bytes. So the mean size of those read last stands for those to be
 * read next; before any was read, a batch takes a few. In real time the connector decides all.
 */
final class KafkaStream
    implements MicroBatchStream,
        SupportsTriggerAvailableNow,
        SupportsRealTimeMode,
        ReportsSourceMetrics,
        BoundedLog,
        WatchedLog {
  /** Records of a batch while nobody knows how large they are: each may have some mebibytes. */
  static final long UNKNOWN_RECORDS = 250;

  private static final ObjectMapper JSON = new ObjectMapper();

  private final MicroBatchStream topics;
  private final BatchSize size;
  private final RecordsRead read;
  private final Rest rest;
  private final Supplier<TopicEnds> opening;
  private TopicEnds ends;
  private boolean bounded;
  private boolean live;

  /** Where the connector last found nothing; null where it found something. */
  private volatile Offset quiet;

  /** Whether there was no partition to read when the connector was asked last. */
  private volatile boolean empty;

  /**
   * @param topics the connector's stream, which also supports what this one does
   * @param opening tells where the topics end; called once there is nothing to read
   */
  KafkaStream(
      MicroBatchStream topics,
      BatchSize size,
      RecordsRead read,
      Rest rest,
      Supplier<TopicEnds> opening) {
    this.topics = topics;
    this.size = size;
    this.read = read;
    this.rest = rest;
    this.opening = opening;
  }

  @Override
  public void prepareForTriggerAvailableNow() {
    ((SupportsTriggerAvailableNow) topics).prepareForTriggerAvailableNow();
    bounded = true;
  }

  @Override
  public void prepareForRealTimeMode() {
    connector().prepareForRealTimeMode();
    live = true;
  }

  private SupportsRealTimeMode connector() {
    return (SupportsRealTimeMode) topics;
  }

  @Override
  public boolean endsAt(Offset offset) {
    if (!bounded) {
      return false;
    }
    Offset end =
        ((SupportsTriggerAvailableNow) topics).latestOffset(offset, ReadLimit.allAvailable());
    return end == null || records(offset, end) == 0;
  }

  @Override
  public boolean hadNothing() {
    return quiet != null || empty;
  }

  @Override
  public ReadLimit getDefaultReadLimit() {
    // What is asked for by rows is as many as the batch's size says.
    return live ? ReadLimit.allAvailable() : ReadLimit.maxRows(Long.MAX_VALUE);
  }

  @Override
  public Offset latestOffset() {
    throw new UnsupportedOperationException("a batch ends by its start and its limits");
  }

  @Override
  public Offset latestOffset(Offset start, ReadLimit limit) {
    SupportsTriggerAvailableNow connector = (SupportsTriggerAvailableNow) topics;
    if (live) {
      return connector.latestOffset(start, limit);
    }
    if (staysQuiet(start, limit)) {
      return start;
    }
    Offset all = connector.latestOffset(start, ReadLimit.allAvailable());
    empty = all == null;
    if (empty || limit instanceof ReadAllAvailable) {
      return all;
    }
    double mean = read.mean();
    if (mean > 0) {
      size.measured(mean);
    }
    long left = records(start, all);
    long most = most(size.next(left));
    Offset end = left <= most ? all : connector.latestOffset(start, ReadLimit.maxRows(most));
    long taken = records(start, end);
    size.took(taken, (long) (taken * size.meanBytes()), taken < left);
    quiet = end.equals(start) && !bounded ? start : null;
    return end;
  }

  /** Returns whether there is nothing new since the connector found nothing, after a rest. */
  private boolean staysQuiet(Offset start, ReadLimit limit) {
    if (!start.equals(quiet) || limit instanceof ReadAllAvailable) {
      return false;
    }
    if (ends == null) {
      ends = opening.get();
    }
    rest.until(() -> !ends.standAt(start));
    return ends.standAt(start);
  }

  /** Returns how many records are within a batch's bounds. */
  private long most(BatchSize.Limit limit) {
    if (limit.bytes() == Long.MAX_VALUE) {
      return limit.rows();
    }
    double mean = size.meanBytes();
    long within = mean > 0 ? Math.max(1, (long) (limit.bytes() / mean)) : UNKNOWN_RECORDS;
    return Math.min(limit.rows(), within);
  }

  /** Returns how many records lie between two offsets, at most; logs that are compacted have less. */
  static long records(Offset start, Offset end) {
    JsonNode from = read(start);
    long records = 0;
    for (Map.Entry<String, JsonNode> topic : read(end).properties()) {
      JsonNode begun = from.path(topic.getKey());
      for (Map.Entry<String, JsonNode> partition : topic.getValue().properties()) {
        long first = begun.path(partition.getKey()).asLong(0);
        records += Math.max(0, partition.getValue().asLong() - first);
      }
    }
    return records;
  }

  /** Returns the partitions of each topic with their places; nothing of no offset. */
  static Map<String, JsonNode> positions(Offset offset) {
    Map<String, JsonNode> positions = new HashMap<>();
    if (offset != null) {
      read(offset).properties().forEach(each -> positions.put(each.getKey(), each.getValue()));
    }
    return positions;
  }

  private static JsonNode read(Offset offset) {
    try {
      return JSON.readTree(offset.json());
    } catch (JsonProcessingException notJson) {
      throw new IllegalArgumentException("not an offset of Spark's Kafka connector", notJson);
    }
  }

  @Override
  public Offset reportLatestOffset() {
    return ((SupportsTriggerAvailableNow) topics).reportLatestOffset();
  }

  @Override
  public Offset initialOffset() {
    return topics.initialOffset();
  }

  @Override
  public Offset deserializeOffset(String json) {
    return topics.deserializeOffset(json);
  }

  @Override
  public InputPartition[] planInputPartitions(Offset start, Offset end) {
    return topics.planInputPartitions(start, end);
  }

  @Override
  public InputPartition[] planInputPartitions(Offset start) {
    return connector().planInputPartitions(start);
  }

  @Override
  public Offset mergeOffsets(PartitionOffset[] offsets) {
    read.partIsRead();
    return connector().mergeOffsets(offsets);
  }

  @Override
  public PartitionReaderFactory createReaderFactory() {
    return CountingReader.counted(topics.createReaderFactory(), read);
  }

  /** Tells what the connector tells, and how large batches are, where there are some. */
  @Override
  public Map<String, String> metrics(Optional<Offset> latestConsumedOffset) {
    Map<String, String> metrics = new LinkedHashMap<>(live ? Map.of() : size.metrics());
    if (topics instanceof ReportsSourceMetrics reporting) {
      metrics.putAll(reporting.metrics(latestConsumedOffset));
    }
    return metrics;
  }

  @Override
  public String toString() {
    return topics.toString();
  }

  @Override
  public void commit(Offset end) {
    topics.commit(end);
  }

  @Override
  public void stop() {
    try {
      Connectors.stop(topics);
    } finally {
      if (ends != null) {
        ends.close();
      }
    }
  }
}
