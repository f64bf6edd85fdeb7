package dev.joinery.kernel.files;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.joinery.kernel.admission.BatchSize;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.ReadLimit;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class FilesStreamTest {
  @TempDir private Path root;
  private Path data;
  private FilesStream stream;

  @BeforeEach
  void openStream() {
    data = root.resolve("data");
    stream = open(1000);
  }

  private FilesStream open(long maxRows) {
    return open(Map.of("maxRowsPerBatch", Long.toString(maxRows)));
  }

  private FilesStream open(Map<String, String> more) {
    Map<String, String> options = new HashMap<>(more);
    options.put("path", data.toString());
    options.put("topics", "[\"a\", \"b\"]");
    FilesOptions parsed = FilesOptions.of(new CaseInsensitiveStringMap(options));
    BatchSize size = new BatchSize(parsed.batch(), () -> 1L << 30, () -> 0);
    return new FilesStream(parsed, 2, new LogFolder.Local(root.resolve("log")), size);
  }

  private void put(String topic, String name, String content) throws IOException {
    Files.createDirectories(data.resolve(topic));
    Files.write(data.resolve(topic).resolve(name), content.getBytes(StandardCharsets.UTF_8));
  }

  private static String lines(String prefix, int from, int to) {
    return IntStream.range(from, to)
        .mapToObj(i -> prefix + i + "\n")
        .collect(Collectors.joining());
  }

  private static Offset next(FilesStream stream, Offset start) {
    return stream.latestOffset(start, ReadLimit.maxRows(1));
  }

  private static String text(InternalRow row, int field) {
    return row.isNullAt(field) ? "null" : new String(row.getBinary(field), StandardCharsets.UTF_8);
  }

  /** The rows of a batch as {@code topic file:line key=value}. */
  private static List<String> rows(FilesStream stream, Offset start, Offset end)
      throws IOException {
    List<String> rows = new ArrayList<>();
    for (InputPartition partition : stream.planInputPartitions(start, end)) {
      try (PartitionReader<InternalRow> reader =
          stream.createReaderFactory().createReader(partition)) {
        while (reader.next()) {
          InternalRow row = reader.get();
          rows.add(
              String.format(
                  "%d %s:%d %s=%s%s",
                  row.getInt(0),
                  row.getUTF8String(3),
                  row.getLong(2),
                  text(row, 4),
                  text(row, 5),
                  row.isNullAt(6) ? "" : " " + row.getUTF8String(6)));
        }
      }
    }
    return rows;
  }

  private static List<Long> labels(FilesStream stream, Offset start, Offset end)
      throws IOException {
    List<Long> labels = new ArrayList<>();
    for (InputPartition partition : stream.planInputPartitions(start, end)) {
      for (FileSlice slice : ((FilesPartition) partition).slices()) {
        labels.add(slice.label());
      }
    }
    return labels;
  }

  @Test
  void foldersThatAreNotThereYetAreEmpty() throws IOException {
    assertNull(next(stream, stream.initialOffset()));

    put("b", "1.jsonl", "x\n");
    Offset end = next(stream, stream.initialOffset());

    assertEquals(List.of("1 1.jsonl:1 null=x"), rows(stream, stream.initialOffset(), end));
    assertEquals(end, next(stream, end));
  }

  @Test
  void filesComeInNameOrderAndOtherNamesAreIgnored() throws IOException {
    put("a", "b.jsonl", "3\n");
    put("a", "a.jsonl", "1\n2\n");
    put("a", ".c.jsonl", "no\n");
    put("a", "_d.jsonl", "no\n");
    put("a", "e.txt", "no\n");
    put("a", "\u00e9.jsonl", "4");

    Offset end = next(stream, stream.initialOffset());

    assertEquals(
        List.of("1", "2", "3", "4"),
        rows(stream, stream.initialOffset(), end).stream()
            .map(each -> each.split("=")[1])
            .toList());
  }

  @Test
  void fileIsFoundInAFolderThatLongDidNotChange() throws IOException {
    put("a", "1.jsonl", "1\n");
    Files.setLastModifiedTime(data.resolve("a"), FileTime.fromMillis(0));
    Offset first = next(stream, stream.initialOffset());
    put("a", "2.jsonl", "2\n");

    assertEquals(
        List.of("0 2.jsonl:1 null=2"), rows(stream, first, next(stream, first)));
  }

  @Test
  void ofAFileWithASizeNoMoreIsRead() throws IOException {
    put("a", "1.jsonl", "1\n2\n3\n");
    put("a", "2.jsonl", "4\n");
    put("b", "1.jsonl", "5\n6\n");
    FilesStream bounded =
        open(Map.of("sizes", "{\"a\":{\"1.jsonl\":4,\"2.jsonl\":9}}", "maxRowsPerBatch", "1000"));

    Offset end = next(bounded, bounded.initialOffset());

    assertEquals(
        List.of("1", "2", "4", "5", "6"),
        rows(bounded, bounded.initialOffset(), end).stream()
            .map(each -> each.split("=")[1])
            .toList());
  }

  @Test
  void blankLinesAreSkippedAndCounted() throws IOException {
    put("a", "1.jsonl", "\ufeffx\r\n\n  \ny");

    Offset end = next(stream, stream.initialOffset());

    assertEquals(
        List.of("0 1.jsonl:1 null=x\r", "0 1.jsonl:4 null=y"),
        rows(stream, stream.initialOffset(), end));
  }

  @Test
  void keyedLinesAreSplitIntoTheirTexts() throws IOException {
    put(
        "a",
        "1.jsonl",
        "{\"key\": {\"id\":1}, \"value\": {\"x\":[1, 2]}}\n"
            + "{\"value\":null,\"key\":{\"id\":1}}\n"
            + "{\"key\":null,\"value\":5}\n"
            + "{\"key\":1,\"value\":2,\"more\":3}\n"
            + "{\"key\":1}\n");

    Offset end = next(stream, stream.initialOffset());

    assertEquals(
        List.of(
            "0 1.jsonl:1 {\"id\":1}={\"x\":[1, 2]}",
            "0 1.jsonl:2 {\"id\":1}=null",
            "0 1.jsonl:3 null=5",
            "0 1.jsonl:4 null={\"key\":1,\"value\":2,\"more\":3}",
            "0 1.jsonl:5 null={\"key\":1}"),
        rows(stream, stream.initialOffset(), end));
  }

  @Test
  void batchesHaveAtMostSoManyLinesSharedFairly() throws IOException {
    put("a", "1.jsonl", lines("a", 0, 100));
    put("b", "1.jsonl", lines("b", 0, 3));
    put("b", "2.jsonl", lines("c", 0, 1));
    FilesStream small = open(10);

    Offset first = next(small, small.initialOffset());
    Offset second = next(small, first);

    assertEquals(10, rows(small, small.initialOffset(), first).size());
    assertEquals(
        List.of("b0", "b1", "b2", "c0"),
        rows(small, small.initialOffset(), first).stream()
            .filter(each -> each.startsWith("1"))
            .map(each -> each.split("=")[1])
            .toList());
    assertEquals("0 1.jsonl:7 null=a6", rows(small, first, second).get(0));
    assertEquals(10, rows(small, first, second).size());
  }

  @Test
  void allLinesComeOnceHoweverBatchesAreCut() throws IOException {
    put("a", "1.jsonl", lines("a", 0, 1000));
    put("a", "2.jsonl", lines("a", 1000, 1500).stripTrailing());
    put("b", "1.jsonl", "\n" + lines("b", 0, 700));
    FilesStream large = open(9999);
    List<String> all = rows(large, large.initialOffset(), next(large, large.initialOffset()));
    FilesStream small = open(37);
    List<String> cut = new ArrayList<>();
    Offset start = small.initialOffset();
    for (Offset end = next(small, start); !end.equals(start); end = next(small, start)) {
      cut.addAll(rows(small, start, end));
      start = end;
    }

    assertEquals(2200, all.size());
    assertEquals(all.stream().sorted().toList(), cut.stream().sorted().toList());
  }

  @Test
  void bytesOfABatchAreLimitedUpToALine() throws IOException {
    put("a", "1.jsonl", lines("0123456789", 0, 10));
    FilesStream small = open(Map.of("maxBytesPerBatch", "25"));

    Offset end = next(small, small.initialOffset());

    assertEquals(3, rows(small, small.initialOffset(), end).size());
  }

  @Test
  void restartGivesTheSameRowsWhateverCameSince() throws IOException {
    put("a", "m.jsonl", lines("m", 0, 5));
    FilesStream before = open(3);
    Offset first = next(before, before.initialOffset());
    List<String> expected = rows(before, before.initialOffset(), first);
    put("a", "a.jsonl", lines("a", 0, 5));
    FilesStream after = open(3);
    Offset stored = after.deserializeOffset(first.json());

    assertEquals(expected, rows(after, after.initialOffset(), stored));
    assertEquals(
        List.of("0 a.jsonl:1 null=a0", "0 a.jsonl:2 null=a1", "0 a.jsonl:3 null=a2"),
        rows(after, stored, next(after, stored)));
  }

  @Test
  void labelsKeepTheOrderOfNamesForFilesThatComeLate() throws IOException {
    put("a", "d.jsonl", "d\n");
    put("a", "m.jsonl", "m\n");
    Offset first = next(stream, stream.initialOffset());
    put("a", "a.jsonl", "a\n");
    put("a", "e.jsonl", "e\n");
    put("a", "f.jsonl", "f\n");
    put("a", "z.jsonl", "z\n");
    Offset second = next(stream, first);
    List<Long> all = labels(stream, stream.initialOffset(), second);

    assertEquals(
        List.of("a", "e", "f", "z"),
        rows(stream, first, second).stream().map(each -> each.split("=")[1]).toList());
    assertEquals(6, all.stream().distinct().count());
    assertEquals(all.stream().sorted().toList(), all);
  }

  @Test
  void tooManyFilesInOneGapAreAClearError() throws IOException {
    put("a", "a.jsonl", "x\n");
    put("a", "b.jsonl", "x\n");
    StringBuilder name = new StringBuilder("a");
    Offset at = next(stream, stream.initialOffset());
    for (int i = 0; i < 40; i++) {
      put("a", name.append('b') + ".jsonl", "x\n");
      at = next(stream, at);
    }
    Offset last = at;
    put("a", name.append('b') + ".jsonl", "x\n");

    FilesError error = assertThrows(FilesError.class, () -> next(stream, last));

    assertTrue(error.getMessage().contains("rename"), error.getMessage());
  }

  @Test
  void labelsSurviveManyDiscoveriesAndARestart() throws IOException {
    Offset at = stream.initialOffset();
    for (int i = 0; i < 70; i++) {
      put("a", String.format("%03d.jsonl", i), i + "\n");
      at = next(stream, at);
    }
    FilesStream again = open(1000);
    Offset stored = again.deserializeOffset(at.json());

    assertEquals(stored, next(again, stored));
    assertEquals(70, rows(again, again.initialOffset(), stored).size());
    assertTrue(at.json().length() < 120, at.json());
    try (var segments = Files.list(root.resolve("log"))) {
      assertTrue(segments.count() < 10);
    }
  }

  @Test
  void longLinesArePassedCutOffWithAnError() throws IOException {
    String big = "x".repeat(300_000);
    put("a", "1.jsonl", "1\n" + big + "\n2\n" + big);
    FilesStream limited = open(Map.of("maxRecordBytes", "100000"));

    Offset end = next(limited, limited.initialOffset());
    List<String> rows = rows(limited, limited.initialOffset(), end);

    String cut = "null=" + "x".repeat(65536) + " too_large";
    assertEquals(
        List.of(
            "0 1.jsonl:1 null=1",
            "0 1.jsonl:2 " + cut,
            "0 1.jsonl:3 null=2",
            "0 1.jsonl:4 " + cut),
        rows);
  }

  @Test
  void aTopicThatIsReadInOrderIsOneTaskOfItsOwn() throws IOException {
    put("a", "1.jsonl", lines("x".repeat(90), 0, 20_000));
    put("b", "1.jsonl", lines("y".repeat(90), 0, 20_000));
    put("a", "2.jsonl", lines("x".repeat(90), 0, 20_000));
    FilesStream wide = open(Map.of("maxRowsPerBatch", "1000000", "inOrder", "[\"a\"]"));

    Offset end = next(wide, wide.initialOffset());
    List<String> topics = new ArrayList<>();
    for (InputPartition task : wide.planInputPartitions(wide.initialOffset(), end)) {
      List<FileSlice> slices = ((FilesPartition) task).slices();
      topics.add(slices.stream().map(each -> each.topic() + " " + each.name()).toList().toString());
    }

    assertEquals("[0 1.jsonl, 0 2.jsonl]", topics.get(0));
    assertTrue(topics.subList(1, topics.size()).stream().noneMatch(each -> each.contains("0 ")));
  }

  @Test
  void largeBatchesAreDividedIntoBalancedTasks() throws IOException {
    put("a", "1.jsonl", lines("x".repeat(90), 0, 20_000));
    put("b", "1.jsonl", lines("y".repeat(90), 0, 5_000));
    FilesStream wide = open(1_000_000);
    Offset end = next(wide, wide.initialOffset());
    FilesStream restarted = open(1_000_000);

    long[] bytes = new long[2];
    InputPartition[] tasks = wide.planInputPartitions(wide.initialOffset(), end);
    for (int i = 0; i < tasks.length; i++) {
      bytes[i] = ((FilesPartition) tasks[i]).slices().stream().mapToLong(FileSlice::bytes).sum();
    }

    assertEquals(2, tasks.length);
    assertTrue(Math.abs(bytes[0] - bytes[1]) < (bytes[0] + bytes[1]) / 4);
    List<String> rows = rows(wide, wide.initialOffset(), end);
    assertEquals(25_000, rows.stream().distinct().count());
    assertEquals(rows, rows(restarted, wide.initialOffset(), end));
  }

  @Test
  void availableNowEndsAtTheFilesOfItsStart() throws IOException {
    put("a", "1.jsonl", "1\n");
    stream.prepareForTriggerAvailableNow();
    put("a", "2.jsonl", "2\n");

    Offset end = next(stream, stream.initialOffset());

    assertEquals(1, rows(stream, stream.initialOffset(), end).size());
    assertEquals(end, next(stream, end));
  }

  @Test
  void progressTellsWhatIsLeftOfEachTopic() throws IOException {
    put("a", "1.jsonl", lines("0", 0, 10));
    FilesStream small = open(4);

    Offset end = next(small, small.initialOffset());
    Map<String, String> metrics = small.metrics(Optional.of(end));

    assertEquals("30", metrics.get("a.bytes"));
    assertEquals("12", metrics.get("a.bytesRead"));
    assertEquals("4", metrics.get("a.linesRead"));
    assertEquals("0", metrics.get("b.bytes"));
  }

  @Test
  void fileThatIsGoneBeforeItWasReadIsAClearError() throws IOException {
    put("a", "1.jsonl", "1\n2\n");
    FilesStream small = open(1);
    Offset first = next(small, small.initialOffset());
    Offset second = next(small, first);
    Files.delete(data.resolve("a").resolve("1.jsonl"));

    FilesError error = assertThrows(FilesError.class, () -> rows(small, first, second));

    assertTrue(error.getMessage().contains("put it back"), error.getMessage());
  }

  @Test
  void checkpointOfAnotherSourceIsAClearError() {
    assertThrows(FilesError.class, () -> stream.deserializeOffset("{\"logOffset\":1}"));
    assertThrows(FilesError.class, () -> stream.deserializeOffset("7"));
  }

  @Test
  void aReplayPutsLinesBackAtTheirPlaces() throws IOException {
    put("a", "1.jsonl", "x0\nx1\nx2\n");
    put("a", "2.jsonl", "y0\n");
    Offset read = next(stream, stream.initialOffset());
    List<Long> originals = labels(stream, stream.initialOffset(), read);
    put("a", "1.jsonl.20260102T030405000006Z.replay.jsonl", "3\tx2\n1\t{\"key\":1,\"value\":2}\n");

    Offset end = next(stream, read);

    assertEquals(List.of("0 1.jsonl:3 null=x2", "0 1.jsonl:1 1=2"), rows(stream, read, end));
    assertEquals(originals.subList(0, 1), labels(stream, read, end));
  }

  @Test
  void aFileBesideAReplayIsLabelledByItsName() throws IOException {
    put("a", "1.jsonl", "x0\n");
    put("a", "2.jsonl", "y0\n");
    put("a", "1.jsonl.20260102T030405000006Z.replay.jsonl", "1\tx0\n");
    Offset read = next(stream, stream.initialOffset());
    put("a", "1.jsonl.0.jsonl", "late\n");

    Offset end = next(stream, read);

    List<Long> all = labels(stream, stream.initialOffset(), read);
    long late = labels(stream, read, end).get(0);
    assertEquals(List.of("0 1.jsonl.0.jsonl:1 null=late"), rows(stream, read, end));
    assertTrue(all.get(0) < late && late < all.get(all.size() - 1));
  }

  @Test
  void aReplayIsKnownAgainAfterARestart() throws IOException {
    put("a", "1.jsonl", "x0\nx1\n");
    put("a", "1.jsonl.20260102T030405000006Z.replay.jsonl", "2\tx1\n");
    Offset read = next(stream, stream.initialOffset());

    FilesStream restarted = open(1000);

    assertEquals(
        List.of("0 1.jsonl:1 null=x0", "0 1.jsonl:2 null=x1", "0 1.jsonl:2 null=x1"),
        rows(restarted, restarted.initialOffset(), read));
    assertEquals(read, next(restarted, read));
  }
}
