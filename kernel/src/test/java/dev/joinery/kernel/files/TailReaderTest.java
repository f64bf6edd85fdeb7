package dev.joinery.kernel.files;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.joinery.kernel.admission.BatchSize;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.PartitionOffset;
import org.apache.spark.sql.connector.read.streaming.ReadLimit;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TailReaderTest {
  private static final long LOOK_MS = 100;
  private static final long LIMIT_MS = 60_000;
  private static final TailRows ROWS = new TailRows(2);

  @TempDir private Path root;
  private FilesStream stream;
  private TailReader reader;

  @BeforeEach
  void openStream() throws IOException {
    Files.createDirectories(complete());
    Files.createDirectories(written());
    stream = open();
  }

  private FilesStream open() {
    return open(LIMIT_MS);
  }

  private FilesStream open(long completeWithinMs) {
    Map<String, String> options =
        Map.of(
            "path", root.resolve("files").toString(),
            "tail", root.resolve("tail").toString(),
            "topics", "[\"a\"]");
    FilesOptions parsed = FilesOptions.of(new CaseInsensitiveStringMap(options));
    BatchSize size = new BatchSize(parsed.batch(), () -> 1L << 30, () -> 0);
    LogFolder log = new LogFolder.Local(root.resolve("log"));
    return new FilesStream(parsed, 2, log, size, completeWithinMs);
  }

  private Path complete() {
    return root.resolve("files").resolve("a");
  }

  private Path written() {
    return root.resolve("tail").resolve("a");
  }

  private Path written(int number, int before) {
    return written().resolve(String.format("%016d.%016d.jsonl", number, before));
  }

  private void append(int number, int before, String lines) throws IOException {
    Files.writeString(
        written(number, before), lines, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
  }

  private void complete(int number, int before) throws IOException {
    Path written = written(number, before);
    Files.move(written, complete().resolve(written.getFileName()));
  }

  private void put(int number, String lines) throws IOException {
    Files.writeString(complete().resolve(String.format("%016d.jsonl", number)), lines);
  }

  /** What a checkpoint says that was written when complete files had their number alone. */
  private static Offset ofBefore(Offset offset) {
    return FilesOffset.of(offset.json().replaceAll("([0-9]{16})[.][0-9]{16}[.]jsonl", "$1.jsonl"));
  }

  private void begin(Offset start) {
    InputPartition[] partitions = stream.planInputPartitions(start);
    reader = (TailReader) stream.createReaderFactory().createReader(partitions[0]);
  }

  /** Reads on until nothing came for a while: {@code file:line=value}. */
  private List<String> more() throws IOException {
    List<String> rows = new ArrayList<>();
    while (reader.nextWithTimeout(LOOK_MS).hasRecord()) {
      rows.add(ROWS.of(reader.get()));
    }
    return rows;
  }

  /** Ends the time of the task; what it tells goes through a checkpoint. */
  private Offset end() throws IOException {
    Offset end = stream.mergeOffsets(new PartitionOffset[] {reader.getOffset()});
    reader.close();
    return FilesOffset.of(end.json());
  }

  private List<String> batch(Offset start, Offset end) throws IOException {
    return ROWS.of(stream, start, end);
  }

  private Offset next(Offset start) {
    return stream.latestOffset(start, ReadLimit.maxRows(Long.MAX_VALUE));
  }

  @Test
  void linesAreReadAsTheyAreWrittenAndOnceTheFileIsComplete() throws IOException {
    begin(stream.initialOffset());
    assertEquals(List.of(), more());

    append(3, 0, "x\n");
    assertEquals(List.of("03:1=x"), more());
    append(3, 0, "y\n");
    append(3, 0, "z\n");
    complete(3, 0);
    assertEquals(List.of("03:2=y", "03:3=z"), more());
    append(5, 3, "u\n");
    assertEquals(List.of("05:1=u"), more());
  }

  @Test
  void lineIsReadOnceItIsWhole() throws IOException {
    begin(stream.initialOffset());
    append(3, 0, "x\n");
    assertEquals(List.of("03:1=x"), more());

    append(3, 0, "hal");
    assertEquals(List.of(), more());
    append(3, 0, "f\n");

    assertEquals(List.of("03:2=half"), more());
  }

  @Test
  void timeThatEndsWithinAFileGoesOnBehindWhatWasRead() throws IOException {
    begin(stream.initialOffset());
    append(3, 0, "x\ny\n");
    more();
    Offset end = end();
    append(3, 0, "z\n");

    begin(end);

    assertEquals(List.of("03:3=z"), more());
  }

  @Test
  void fileThatBecameCompleteBetweenTwoTimesIsReadOn() throws IOException {
    begin(stream.initialOffset());
    append(3, 0, "x\ny\n");
    more();
    Offset end = end();
    append(3, 0, "z\n");
    complete(3, 0);
    append(5, 3, "u\n");

    begin(end);

    assertEquals(List.of("03:3=z", "05:1=u"), more());
  }

  @Test
  void checkpointOfBeforeGoesOnInTheFileOfItsNumber() throws IOException {
    begin(stream.initialOffset());
    append(3, 0, "x\n");
    more();
    Offset first = ofBefore(end());
    append(3, 0, "y\n");
    begin(first);
    assertEquals(List.of("03:2=y"), more());
    Offset second = ofBefore(end());
    append(3, 0, "z\n");
    complete(3, 0);

    begin(second);

    assertEquals(List.of("03:3=z"), more());
    assertEquals(List.of("03:2=y"), batch(first, second));
  }

  @Test
  void checkpointOfBeforeGoesOnInAFileThatIsCompletedAsItIsOpened() throws IOException {
    begin(stream.initialOffset());
    append(3, 0, "x\n");
    more();
    Offset first = ofBefore(end());
    append(3, 0, "y\n");

    begin(first);
    complete(3, 0);

    assertEquals(List.of("03:2=y"), more());
  }

  @Test
  void batchReadsOnWhereRealTimeEnded() throws IOException {
    begin(stream.initialOffset());
    append(3, 0, "x\ny\n");
    more();
    Offset end = end();
    assertEquals(end, next(end));
    append(3, 0, "z\n");
    complete(3, 0);
    put(5, "u\n");
    stream = open();

    Offset later = next(end);

    assertEquals(List.of("03:3=z", "05:1=u"), batch(end, later));
    assertEquals(later, next(later));
  }

  @Test
  void batchOfATimeThatWasNotedAndNotCommittedReadsTheSameRows() throws IOException {
    Offset start = stream.initialOffset();
    put(1, "w\n");
    begin(start);
    append(3, 1, "x\ny\n");
    assertEquals(List.of("01:1=w", "03:1=x", "03:2=y"), more());
    Offset end = end();
    append(3, 1, "z\n");
    complete(3, 1);
    stream = open();

    assertEquals(List.of("01:1=w", "03:1=x", "03:2=y"), batch(start, end));
  }

  @Test
  void batchOfATimeWaitsForTheCaptureThatCompletesItsFile() throws Exception {
    Offset start = stream.initialOffset();
    begin(start);
    append(3, 0, "x\n");
    more();
    Offset end = end();
    stream = open(0);
    Thread capture = new Thread(this::completeLater);
    capture.start();

    assertEquals(List.of("03:1=x"), batch(start, end));

    capture.join();
  }

  private void completeLater() {
    Pauses.rest(2 * LOOK_MS);
    try {
      complete(3, 0);
    } catch (IOException failure) {
      throw new UncheckedIOException(failure);
    }
  }

  @Test
  void batchOfATimeWhoseFileIsGoneIsRefused() throws IOException {
    Offset start = stream.initialOffset();
    begin(start);
    append(3, 0, "x\n");
    more();
    Offset end = end();
    Files.delete(written(3, 0));
    stream = open(0);

    assertThrows(FilesError.class, () -> batch(start, end));
  }

  @Test
  void filesThatCameCompleteAreReadInTheirOrder() throws IOException {
    put(1, "a\nb\n");
    Offset start = stream.latestOffset(stream.initialOffset(), ReadLimit.maxRows(1));
    begin(start);
    append(9, 7, "x\n");
    put(4, "c\n");
    put(7, "d\n");

    assertEquals(List.of("04:1=c", "07:1=d", "09:1=x"), more());
  }

  @Test
  void timeThatEndsBetweenRowsOfACompleteFileGoesOnThere() throws IOException {
    put(1, "a\nb\nc\n");
    begin(stream.initialOffset());
    reader.nextWithTimeout(LOOK_MS);
    reader.nextWithTimeout(LOOK_MS);
    Offset end = end();

    begin(end);

    assertEquals(List.of("01:3=c"), more());
  }

  @Test
  void labelsAreThoseOfBatches() throws IOException {
    begin(stream.initialOffset());
    append(3, 0, "x\n");
    reader.nextWithTimeout(LOOK_MS);
    long label = reader.get().getLong(1);
    Offset end = end();
    complete(3, 0);

    FilesPartition all = (FilesPartition) batchOf(next(end))[0];

    assertEquals(label, all.slices().get(0).label());
  }

  private InputPartition[] batchOf(Offset end) {
    return stream.planInputPartitions(stream.initialOffset(), end);
  }

  @Test
  void fileThatIsGoneBeforeItWasReadToItsEndIsTold() throws IOException {
    begin(stream.initialOffset());
    append(3, 0, "x\n");
    more();
    Offset end = end();
    Files.delete(written(3, 0));

    begin(end);

    assertThrows(FilesError.class, this::more);
  }
}
