package dev.joinery.kernel.files;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;

/** Opens a reader in a task. */
record FilesReaderFactory(int maxRecordBytes) implements PartitionReaderFactory {
  @Override
  public PartitionReader<InternalRow> createReader(InputPartition partition) {
    return partition instanceof TailPartition tail
        ? new TailReader(tail, maxRecordBytes)
        : new FilesReader(((FilesPartition) partition).slices(), maxRecordBytes);
  }
}
