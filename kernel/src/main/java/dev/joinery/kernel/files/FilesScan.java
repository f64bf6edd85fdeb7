package dev.joinery.kernel.files;

import dev.joinery.kernel.admission.BatchSize;
import dev.joinery.kernel.admission.TaskMemory;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.SparkContext;
import org.apache.spark.deploy.SparkHadoopUtil;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.types.StructType;

/** One reading of change files: as a stream, or once all that is there. */
record FilesScan(FilesOptions options) implements Scan, Batch {
  @Override
  public StructType readSchema() {
    return FilesTable.SCHEMA;
  }

  @Override
  public String description() {
    return "change files " + options.path() + " " + options.topics();
  }

  @Override
  public MicroBatchStream toMicroBatchStream(String checkpointLocation) {
    LogFolder folder = LogFolder.of(checkpointLocation, SparkHadoopUtil.get().conf());
    BatchSize size =
        new BatchSize(options.batch(), TaskMemory::bytes, () -> System.nanoTime() / 1_000_000);
    return new FilesStream(options, partitions(), folder, size);
  }

  @Override
  public Batch toBatch() {
    return this;
  }

  @Override
  public InputPartition[] planInputPartitions() {
    List<String> topics = options.topics();
    FilesOffset start = new FilesOffset(Map.of());
    if (!options.until().isEmpty()) {
      return planUntil(start, FilesOffset.of(options.until()));
    }
    FileCatalog catalog = new FileCatalog(options, null);
    catalog.discover(topics);
    BatchCut cut = new BatchCut(catalog);
    FilesOffset end = cut.end(start, topics, Long.MAX_VALUE, Long.MAX_VALUE);
    BatchPlan plan = new BatchPlan(catalog, topics, List.of());
    List<FileSlice> slices = plan.slices(start, end);
    return FilesPartition.of(plan.tasks(slices, partitions(), new HashMap<>(cut.marks)));
  }

  /** What a stream has read: of the files that it noted, at the places that it gave them. */
  private InputPartition[] planUntil(FilesOffset start, FilesOffset end) {
    LogFolder folder = LogFolder.of(options.labels(), SparkHadoopUtil.get().conf());
    FileCatalog catalog = new FileCatalog(options, new LabelLog(folder));
    BatchPlan plan = new BatchPlan(catalog, options.topics(), options.inOrder());
    List<FileSlice> slices = plan.slices(start, end.completedIn(catalog));
    return FilesPartition.of(plan.tasks(slices, partitions(), new HashMap<>()));
  }

  @Override
  public PartitionReaderFactory createReaderFactory() {
    return new FilesReaderFactory(options.maxRecordBytes());
  }

  private int partitions() {
    return options.partitions() > 0
        ? options.partitions()
        : SparkContext.getOrCreate().defaultParallelism();
  }
}
