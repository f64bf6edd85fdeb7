package dev.joinery.kernel.kafka;

import dev.joinery.kernel.admission.BatchOptions;
import dev.joinery.kernel.admission.BatchSize;
import dev.joinery.kernel.admission.Rest;
import dev.joinery.kernel.admission.TaskMemory;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * Topics as a table of records, which are read as a stream only. The option {@code read} names the
 * {@link RecordsRead} that hears what its tasks read.
 */
record KafkaTable(Table connector, StructType columnsOfRecords) implements Table, SupportsRead {
  private static final String PATTERN = "subscribePattern";
  private static final String READ = "read";
  private static final String OF_CLIENT = "kafka.";

  @Override
  public String name() {
    return connector.name();
  }

  @Override
  @SuppressWarnings("deprecation")
  public StructType schema() {
    return columnsOfRecords;
  }

  @Override
  public Set<TableCapability> capabilities() {
    return Set.of(TableCapability.MICRO_BATCH_READ);
  }

  @Override
  public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
    Scan scan = scan(options);
    Map<String, String> reached = new HashMap<>(options);
    reached.keySet().removeIf(each -> !each.startsWith(OF_CLIENT));
    return () ->
        new BoundedScan(
            scan, BatchOptions.of(options), read(options), () -> ends(reached, options.get(PATTERN)));
  }

  private static RecordsRead read(CaseInsensitiveStringMap options) {
    long id = options.getLong(READ, -1);
    return id < 0 ? RecordsRead.of(SparkContext.getOrCreate()) : RecordsRead.known(id);
  }

  private Scan scan(CaseInsensitiveStringMap options) {
    return ((SupportsRead) connector).newScanBuilder(options).build();
  }

  private TopicEnds ends(Map<String, String> reached, String pattern) {
    return SharedEnds.of(
        reached,
        pattern,
        all -> {
          Map<String, String> options = new HashMap<>(reached);
          options.put(PATTERN, all);
          // It is tried again with the next look.
          options.put("fetchOffset.numRetries", "1");
          return scan(new CaseInsensitiveStringMap(options)).toMicroBatchStream("");
        });
  }

  /** One reading of topics as a stream. */
  private record BoundedScan(
      Scan scan, BatchOptions options, RecordsRead read, Supplier<TopicEnds> ends)
      implements Scan {
    @Override
    public StructType readSchema() {
      return scan.readSchema();
    }

    @Override
    public String description() {
      return scan.description();
    }

    @Override
    public CustomMetric[] supportedCustomMetrics() {
      return scan.supportedCustomMetrics();
    }

    @Override
    public MicroBatchStream toMicroBatchStream(String checkpointLocation) {
      BatchSize size =
          new BatchSize(options, TaskMemory::bytes, () -> System.nanoTime() / 1_000_000);
      size.measured(options.rowBytes());
      return new KafkaStream(
          scan.toMicroBatchStream(checkpointLocation),
          size,
          read,
          new Rest(options.restMillis()),
          ends);
    }
  }
}
