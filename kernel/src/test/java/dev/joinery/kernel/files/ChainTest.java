package dev.joinery.kernel.files;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.joinery.kernel.admission.BatchSize;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.ReadLimit;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A change file that is missing from a spool ends a stream, unless it was read or let go. */
class ChainTest {
  @TempDir private Path root;

  @BeforeEach
  void writeFiles() throws IOException {
    put(2, 0);
    put(5, 2);
    put(6, 5);
    note("position.json", "{\"last\": {\"a\": 6}}");
  }

  private Path file(long number, long before) {
    return root.resolve("files/a").resolve(String.format("%016d.%016d.jsonl", number, before));
  }

  private void put(long number, long before) throws IOException {
    Files.createDirectories(root.resolve("files/a"));
    Files.writeString(file(number, before), number + "\n");
  }

  private void note(String name, String json) throws IOException {
    Files.writeString(root.resolve(name), json);
  }

  private FilesStream open() {
    Map<String, String> options =
        Map.of(
            "path", root.resolve("files").toString(),
            "tail", root.resolve("tail").toString(),
            "topics", "[\"a\"]");
    FilesOptions parsed = FilesOptions.of(new CaseInsensitiveStringMap(options));
    BatchSize size = new BatchSize(parsed.batch(), () -> 1L << 30, () -> 0);
    return new FilesStream(parsed, 2, new LogFolder.Local(root.resolve("log")), size, 0);
  }

  private static long read(FilesStream stream) {
    return FilesOffset.of(read(stream, stream.initialOffset())).topic("a").lines();
  }

  private static Offset read(FilesStream stream, Offset start) {
    return stream.latestOffset(start, ReadLimit.maxRows(99));
  }

  private void refused(long number) {
    FilesStream stream = open();
    FilesError error = assertThrows(FilesError.class, () -> read(stream));
    assertTrue(error.getMessage().startsWith(String.format("change file %016d of", number)));
  }

  @Test
  void allFilesAreThere() {
    assertEquals(3, read(open()));
  }

  @ParameterizedTest
  @CsvSource({"2, 0", "5, 2", "6, 5"})
  void oneThatIsMissingIsNamedWhereverItStood(long number, long before) throws IOException {
    Files.delete(file(number, before));

    refused(number);
  }

  @Test
  void aTableWithoutAnyIsRefusedByItsLast() throws IOException {
    for (long[] each : new long[][] {{2, 0}, {5, 2}, {6, 5}}) {
      Files.delete(file(each[0], each[1]));
    }

    refused(6);
  }

  @Test
  void theFirstThatIsMissingBehindThoseThatWereLetGoIsNamed() throws IOException {
    Files.delete(file(2, 0));
    Files.delete(file(5, 2));
    note("kept.json", "{\"removed\": 4, \"removed a\": 2}");

    refused(5);
  }

  @Test
  void thoseThatWereLetGoMayBeMissing() throws IOException {
    Files.delete(file(2, 0));
    Files.delete(file(5, 2));
    note("kept.json", "{\"removed\": 5, \"removed a\": 5}");

    assertEquals(1, read(open()));
  }

  @Test
  void oneThatWasReadMayBeMissing() throws IOException {
    FilesStream stream = open();
    Offset end = read(stream, stream.initialOffset());
    Files.delete(file(5, 2));
    put(9, 6);

    assertEquals(4, FilesOffset.of(read(open(), end)).topic("a").lines());
  }

  @Test
  void filesOfBeforeTellOfNoOther() throws IOException {
    Files.move(file(5, 2), root.resolve("files/a").resolve("0000000000000005.jsonl"));
    note("position.json", "{}");
    assertEquals(3, read(open()));
  }

  @Test
  void aMissingFileOfBeforeIsNamedByTheOneBehindIt() throws IOException {
    Files.delete(file(2, 0));
    Files.move(file(5, 2), root.resolve("files/a").resolve("0000000000000005.jsonl"));
    assertEquals(2, read(open()));
    Files.delete(root.resolve("files/a").resolve("0000000000000005.jsonl"));
    Files.delete(root.resolve("log").resolve("000000000.labels"));

    refused(5);
  }

  @Test
  void inRealTimeOneThatIsMissingIsNotPassedOver() throws IOException {
    Path files = root.resolve("files/a");
    Tails tails = new Tails(files, root.resolve("tail/a"));
    String last = file(2, 0).getFileName().toString();
    Files.delete(file(5, 2));

    assertThrows(FilesError.class, () -> tails.next(last));
    assertNull(new Tails(files, root.resolve("tail/a")).next(file(6, 5).getFileName().toString()));
  }
}
