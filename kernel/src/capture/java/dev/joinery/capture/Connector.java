package dev.joinery.capture;

import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.ServiceLoader;
import java.util.function.Supplier;
import org.apache.kafka.common.metrics.PluginMetrics;
import org.apache.kafka.connect.connector.Task;
import org.apache.kafka.connect.source.SourceConnector;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.source.SourceTask;
import org.apache.kafka.connect.source.SourceTaskContext;
import org.apache.kafka.connect.storage.OffsetStorageReader;

/**
 * Debezium's connector, run as Kafka Connect runs it, by one thread and without a worker: the one
 * that is on the class path, since each database has its own.
 */
final class Connector implements AutoCloseable {
  private final SourceTask task;

  /**
   * Starts where a position says; with the tables themselves where there is none.
   *
   * @param position what is durable, asked again whenever the connector confirms
   */
  Connector(Map<String, String> settings, Supplier<Position> position) {
    SourceConnector connector = ServiceLoader.load(SourceConnector.class).iterator().next();
    task = taskOf(connector);
    connector.start(settings);
    Map<String, String> given = connector.taskConfigs(1).get(0);
    task.initialize(new Context(given, position));
    task.start(given);
  }

  /** Returns a task of a connector, which tells its class alone: Kafka Connect makes it, too. */
  private static SourceTask taskOf(SourceConnector connector) {
    try {
      Class<? extends Task> known = connector.taskClass();
      return (SourceTask) known.getDeclaredConstructor().newInstance();
    } catch (ReflectiveOperationException broken) {
      throw new IllegalStateException("the connector has no task", broken);
    }
  }

  /** Returns what came meanwhile, perhaps nothing, after a moment. */
  List<SourceRecord> poll() throws InterruptedException {
    List<SourceRecord> found = task.poll();
    return found == null ? List.of() : found;
  }

  /** Confirms the position, at the next poll: the database need not keep its log up to there. */
  void confirm(SourceRecord record) throws InterruptedException {
    task.commitRecord(record, null);
    task.commit();
  }

  @Override
  public void close() {
    task.stop();
  }

  /** Tells the connector how far it came. */
  private record Context(Map<String, String> configs, Supplier<Position> position)
      implements SourceTaskContext, OffsetStorageReader {
    @Override
    public OffsetStorageReader offsetStorageReader() {
      return this;
    }

    @Override
    public PluginMetrics pluginMetrics() {
      throw new UnsupportedOperationException("a capture keeps no metrics of Kafka Connect");
    }

    @Override
    @SuppressWarnings("unchecked")
    public <T> Map<String, Object> offset(Map<String, T> partition) {
      Position now = position.get();
      boolean known = now != null && now.partition().equals(partition);
      return known ? (Map<String, Object>) now.offset() : null;
    }

    @Override
    public <T> Map<Map<String, T>, Map<String, Object>> offsets(
        Collection<Map<String, T>> partitions) {
      Map<Map<String, T>, Map<String, Object>> found = new HashMap<>();
      partitions.forEach(each -> found.put(each, offset(each)));
      return found;
    }
  }
}
