package dev.joinery.kernel.files;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.joinery.kernel.admission.BatchSize;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.ReadLimit;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a stream of change files does, and tells, once nothing is left to read. */
class FilesStreamRestTest {
  @TempDir private Path root;

  private FilesStream open(Map<String, String> more) {
    Map<String, String> options = new HashMap<>(more);
    options.put("path", root.resolve("data").toString());
    options.put("topics", "[\"a\", \"b\"]");
    FilesOptions parsed = FilesOptions.of(new CaseInsensitiveStringMap(options));
    BatchSize size = new BatchSize(parsed.batch(), () -> 1L << 30, () -> 0);
    return new FilesStream(parsed, 2, new LogFolder.Local(root.resolve("log")), size);
  }

  private void put(String topic, String lines) throws IOException {
    Path folder = Files.createDirectories(root.resolve("data").resolve(topic));
    Files.writeString(folder.resolve("1.jsonl"), lines);
  }

  private static Offset next(FilesStream stream, Offset start) {
    return stream.latestOffset(start, ReadLimit.maxRows(1));
  }

  @Test
  void aStreamTellsThatItHadNothingUntilItFindsSomething() throws IOException {
    put("a", "x0\nx1\n");
    FilesStream stream = open(Map.of("maxRowsPerBatch", "1"));
    assertFalse(stream.hadNothing()); // it never looked
    Offset first = next(stream, stream.initialOffset());
    assertFalse(stream.hadNothing());
    Offset second = next(stream, first);
    assertFalse(stream.hadNothing()); // there may be more

    assertEquals(second, next(stream, second));
    assertTrue(stream.hadNothing());
    put("b", "y0\n");
    assertNotEquals(second, next(stream, second));
    assertFalse(stream.hadNothing());
  }

  @Test
  void aStreamThatFoundNothingRestsUntilAFileComes() throws Exception {
    put("a", "x0\nx1\nx2\n");
    FilesStream stream = open(Map.of("restMillis", "60000"));
    Offset end = next(stream, stream.initialOffset());
    assertEquals(end, next(stream, end)); // the first time it says so at once
    Thread writer =
        new Thread(
            () -> {
              try {
                Thread.sleep(100);
                put("b", "y0\n");
              } catch (IOException | InterruptedException failure) {
                throw new IllegalStateException(failure);
              }
            });
    writer.start();

    Offset after = next(stream, end);

    writer.join();
    assertNotEquals(end, after);
  }

  @Test
  void aQueryThatIsEndedDoesNotRest() throws IOException {
    put("a", "x0\nx1\nx2\n");
    FilesStream stream = open(Map.of("restMillis", "60000"));
    Offset end = next(stream, stream.initialOffset());
    next(stream, end);
    Thread.currentThread().interrupt();

    Offset after = next(stream, end);

    assertTrue(Thread.interrupted());
    assertEquals(end, after);
  }
}
