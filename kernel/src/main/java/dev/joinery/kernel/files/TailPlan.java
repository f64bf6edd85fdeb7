package dev.joinery.kernel.files;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.connector.read.InputPartition;

/** Gives each topic to a task of real time, with what is left of its complete files. */
final class TailPlan {
  private final FileCatalog catalog;
  private final FilesOptions options;

  TailPlan(FileCatalog catalog, FilesOptions options) {
    this.catalog = catalog;
    this.options = options;
  }

  InputPartition[] partitions(FilesOffset begun) {
    if (options.tail().isEmpty()) {
      throw new FilesError("change files are read in batches; real time follows those of a spool");
    }
    List<InputPartition> partitions = new ArrayList<>();
    for (int number = 0; number < options.topics().size(); number++) {
      partitions.add(partition(number, options.topics().get(number), begun));
    }
    return partitions.toArray(InputPartition[]::new);
  }

  private TailPartition partition(int number, String topic, FilesOffset begun) {
    Progress.Tail tail = begun.topic(topic).tail();
    KnownFile last = catalog.last(topic);
    return new TailPartition(
        number,
        topic,
        catalog.folder(topic).toString(),
        Path.of(options.tail()).resolve(topic).toString(),
        left(number, topic, begun.topic(topic)),
        last == null ? "" : last.name(),
        last == null ? 0 : last.label(),
        tail == null
            ? null
            : new TailPartition.Begun(tail.file(), tail.point().line(), tail.point().offset()));
  }

  private ArrayList<FileSlice> left(int number, String topic, Progress from) {
    ArrayList<FileSlice> slices = new ArrayList<>();
    for (KnownFile file : catalog.unread(topic, from.done())) {
      slices.add(BatchPlan.slice(catalog, number, file, from.point(file.number()), file.size()));
    }
    return slices;
  }
}
