package dev.joinery.kernel.files;

import java.util.List;
import org.apache.spark.sql.connector.read.InputPartition;

/** The lines one task reads. */
record FilesPartition(List<FileSlice> slices) implements InputPartition {
  static InputPartition[] of(List<List<FileSlice>> tasks) {
    return tasks.stream()
        .map(each -> new FilesPartition(List.copyOf(each)))
        .toArray(InputPartition[]::new);
  }
}
