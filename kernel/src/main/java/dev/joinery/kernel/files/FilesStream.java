package dev.joinery.kernel.files;

import dev.joinery.kernel.admission.BatchSize;
import dev.joinery.kernel.admission.BoundedLog;
import dev.joinery.kernel.admission.Rest;
import dev.joinery.kernel.admission.WatchedLog;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
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
 * Change files as a stream: cuts batches on the driver, and tells how much is left. In real time a
 * task follows each topic, and tells how far it came once its time is over.
 *
 * <p>The rows between two offsets depend on these alone, not on what came into the folders since.
 */
final class FilesStream
    implements MicroBatchStream,
        SupportsTriggerAvailableNow,
        SupportsRealTimeMode,
        ReportsSourceMetrics,
        BoundedLog,
        WatchedLog {
  private static final long COMPLETE_WITHIN_MS = 60_000;
  private static final long LOOK_MS = 50;

  private final FilesOptions options;
  private final int partitions;
  private final FileCatalog catalog;
  private final BatchCut cut;
  private final BatchSize size;
  private final long completeWithinMs;
  private final Rest rest;
  private boolean frozen;

  /** How many files there were when nothing was left to read; below 0 where something was. */
  private volatile int quietFiles = -1;

  /** Where the tasks of real time began. */
  private FilesOffset begun;

  FilesStream(FilesOptions options, int partitions, LogFolder folder, BatchSize size) {
    this(options, partitions, folder, size, COMPLETE_WITHIN_MS);
  }

  FilesStream(
      FilesOptions options,
      int partitions,
      LogFolder folder,
      BatchSize size,
      long completeWithinMs) {
    this.options = options;
    this.completeWithinMs = completeWithinMs;
    this.size = size;
    this.partitions = partitions;
    rest = new Rest(options.batch().restMillis());
    catalog = new FileCatalog(options, new LabelLog(folder));
    cut = new BatchCut(catalog);
  }

  @Override
  public void prepareForTriggerAvailableNow() {
    catalog.discover(options.topics());
    frozen = true;
  }

  @Override
  public ReadLimit getDefaultReadLimit() {
    // What is asked for by rows is as many as the batch's size says.
    return ReadLimit.maxRows(Long.MAX_VALUE);
  }

  @Override
  public Offset latestOffset() {
    throw new UnsupportedOperationException("a batch ends by its start and its limits");
  }

  @Override
  public Offset latestOffset(Offset start, ReadLimit limit) {
    if (!frozen) {
      catalog.discover(options.topics());
      if (files() == quietFiles) {
        rest.until(this::foundFiles);
      }
    }
    FilesOffset from = FilesOffset.of(start).completedIn(catalog);
    BatchSize.Limit most =
        limit instanceof ReadAllAvailable
            ? new BatchSize.Limit(Long.MAX_VALUE, Long.MAX_VALUE)
            : size.next(size.rowsIn(Math.max(0, known() - bytes(from))));
    FilesOffset end = cut.end(from, options.topics(), most.rows(), most.bytes());
    size.took(lines(end) - lines(from), bytes(end) - bytes(from), bytes(end) < known());
    quietFiles = end.equals(from) ? files() : -1;
    return end.equals(from) && from.topics.isEmpty() ? null : end;
  }

  private boolean foundFiles() {
    catalog.discover(options.topics());
    return files() != quietFiles;
  }

  /** Returns how many files all topics have. */
  private int files() {
    return options.topics().stream().mapToInt(catalog::count).sum();
  }

  @Override
  public boolean endsAt(Offset offset) {
    return frozen && bytes(FilesOffset.of(offset).completedIn(catalog)) >= known();
  }

  @Override
  public boolean hadNothing() {
    return quietFiles >= 0;
  }

  /** Returns the bytes that all topics have. */
  private long known() {
    return options.topics().stream().mapToLong(catalog::bytes).sum();
  }

  private long bytes(FilesOffset offset) {
    return options.topics().stream().mapToLong(each -> offset.topic(each).bytes()).sum();
  }

  private long lines(FilesOffset offset) {
    return options.topics().stream().mapToLong(each -> offset.topic(each).lines()).sum();
  }

  @Override
  public Offset reportLatestOffset() {
    Map<String, Progress> topics = new HashMap<>();
    for (String topic : options.topics()) {
      Progress progress = Progress.none();
      progress.done().set(0, catalog.count(topic));
      topics.put(
          topic, new Progress(progress.done(), progress.open(), 0, catalog.bytes(topic)));
    }
    return new FilesOffset(topics);
  }

  @Override
  public Offset initialOffset() {
    return new FilesOffset(Map.of());
  }

  @Override
  public Offset deserializeOffset(String json) {
    return FilesOffset.of(json);
  }

  @Override
  public InputPartition[] planInputPartitions(Offset start, Offset end) {
    BatchPlan plan = new BatchPlan(catalog, options.topics(), options.inOrder());
    FilesOffset from = FilesOffset.of(start);
    FilesOffset to = completed(from, FilesOffset.of(end));
    List<FileSlice> slices = plan.slices(from.completedIn(catalog), to);
    return FilesPartition.of(plan.tasks(slices, partitions, cut.marks));
  }

  /**
   * Returns the end of a batch once the files are complete that were being written when real time
   * noted it: those a capture completes when it starts, or within a moment where it goes on. One
   * that may not start, since its server is away or it is paused, is waited for.
   */
  private FilesOffset completed(FilesOffset start, FilesOffset end) {
    long until = System.nanoTime() + completeWithinMs * 1_000_000;
    FilesOffset completed = end.completedIn(catalog);
    Map<String, String> left = left(start, completed);
    while (!left.isEmpty()) {
      boolean there = isThere(left); // Asked first: one may be moved now.
      catalog.discover(options.topics());
      completed = end.completedIn(catalog);
      left = left(start, completed);
      if (!left.isEmpty()) {
        if (!there && System.nanoTime() > until) {
          throw new FilesError(
              "changes that were read in real time are in no file of " + options.path()
                  + " any more: put the spool back as it was, or run joinery run --rebuild");
        }
        Pauses.rest(LOOK_MS);
      }
    }
    return completed;
  }

  /** Returns, by topic that is still read, the files that are not complete yet. */
  private Map<String, String> left(FilesOffset start, FilesOffset end) {
    Map<String, String> files = end.tailsSince(start);
    files.keySet().retainAll(options.topics());
    return files;
  }

  /** Returns whether all of these files, by topic, stand where they are written. */
  private boolean isThere(Map<String, String> files) {
    return files.entrySet().stream()
        .allMatch(each -> Tails.isWritten(Path.of(options.tail(), each.getKey()), each.getValue()));
  }

  @Override
  public InputPartition[] planInputPartitions(Offset start) {
    catalog.discover(options.topics());
    begun = FilesOffset.of(start).completedIn(catalog);
    return new TailPlan(catalog, options).partitions(begun);
  }

  @Override
  public Offset mergeOffsets(PartitionOffset[] offsets) {
    catalog.discover(options.topics());
    Map<String, Progress> topics = new HashMap<>(begun.topics);
    for (PartitionOffset each : offsets) {
      TailOffset reached = (TailOffset) each;
      topics.put(reached.topic(), reached.after(begun.topic(reached.topic()), catalog));
    }
    return new FilesOffset(topics).completedIn(catalog);
  }

  @Override
  public PartitionReaderFactory createReaderFactory() {
    return new FilesReaderFactory(options.maxRecordBytes());
  }

  /**
   * Tells, for each topic, {@code <topic>.bytes} and {@code <topic>.files} seen so far, {@code
   * <topic>.bytesRead} and {@code <topic>.linesRead}, and how large batches are.
   */
  @Override
  public Map<String, String> metrics(Optional<Offset> latestConsumedOffset) {
    FilesOffset read =
        latestConsumedOffset.map(FilesOffset::of).orElseGet(() -> new FilesOffset(Map.of()));
    Map<String, String> metrics = new LinkedHashMap<>(size.metrics());
    for (String topic : options.topics()) {
      Progress progress = read.topic(topic);
      metrics.put(topic + ".bytes", Long.toString(catalog.bytes(topic)));
      metrics.put(topic + ".files", Integer.toString(catalog.count(topic)));
      metrics.put(topic + ".bytesRead", Long.toString(progress.bytes()));
      metrics.put(topic + ".linesRead", Long.toString(progress.lines()));
    }
    return metrics;
  }

  @Override
  public String toString() {
    return "change files " + options.path() + " " + options.topics();
  }

  @Override
  public void commit(Offset end) {}

  @Override
  public void stop() {}
}
