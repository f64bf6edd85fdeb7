package dev.joinery.kernel.kafka;

import dev.joinery.kernel.admission.BatchOptions;
import dev.joinery.kernel.admission.BatchSize;
import dev.joinery.kernel.admission.TaskMemory;
import java.util.Set;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** Topics as a table of records, read in batches only. */
record KafkaTable(Table connector, StructType columnsOfRecords) implements Table, SupportsRead {
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
    Scan scan = ((SupportsRead) connector).newScanBuilder(options).build();
    return () -> new BoundedScan(scan, BatchOptions.of(options));
  }

  /** One reading of topics as a stream. */
  private record BoundedScan(Scan scan, BatchOptions options) implements Scan {
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
      return new KafkaStream(scan.toMicroBatchStream(checkpointLocation), size, RecordSizes.ofTasks());
    }
  }
}
