package dev.joinery.kernel.egress;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.joinery.kernel.message.Message;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Several attempts of one task stage their lines, and only those of the one that ended count. */
class StageTest {
  @TempDir Path folder;
  private Stage stage;

  @BeforeEach
  void open() throws IOException {
    stage = new Stage(List.of(), folder.toString());
    stage.open();
  }

  private static InternalRow letter(String json) {
    byte[] message = Message.deadLetter(7, json.getBytes(StandardCharsets.UTF_8));
    return new GenericInternalRow(new Object[] {message});
  }

  private static Iterator<InternalRow> letters(String... lines) {
    return Arrays.stream(lines).map(StageTest::letter).iterator();
  }

  /** Rows of which the next is made only when it is taken. */
  @SafeVarargs
  private static Iterator<InternalRow> rows(Supplier<InternalRow>... each) {
    return Arrays.stream(each).map(Supplier::get).iterator();
  }

  private List<String> files() throws IOException {
    try (Stream<Path> all = Files.walk(folder)) {
      return all.filter(Files::isRegularFile)
          .map(each -> folder.relativize(each).toString())
          .sorted()
          .toList();
    }
  }

  private List<String> kept(int partition) throws IOException {
    return Files.readAllLines(
        folder.resolve("dead_letters").resolve(String.format("part-%05d.jsonl", partition)));
  }

  @Test
  void aLateAttemptLeavesTheLinesOfTheOneThatEnded() throws IOException {
    Stage.Part[] ended = new Stage.Part[1];
    Iterator<InternalRow> late =
        rows(
            () -> {
              ended[0] = write(2, letters("{\"a\":1}", "{\"a\":2}"));
              return letter("{\"a\":1}");
            },
            () -> {
              throw new IllegalStateException("killed");
            });

    assertThrows(IllegalStateException.class, () -> stage.write(0, 1, late));
    keep(ended[0]);

    assertEquals(List.of("{\"a\":1}", "{\"a\":2}"), kept(0));
    assertEquals(List.of("dead_letters/part-00000.jsonl"), files());
  }

  @Test
  void anAttemptThatBeginsAfterItsBatchWasKeptLeavesNothing() throws IOException {
    keep(write(1, letters("{\"a\":1}")));

    assertThrows(IOException.class, () -> stage.write(0, 2, letters("{\"a\":2}")));

    assertEquals(List.of("{\"a\":1}"), kept(0));
    assertEquals(List.of("dead_letters/part-00000.jsonl"), files());
  }

  @Test
  void twoAttemptsThatEndCountOnce() throws IOException {
    Stage.Part one = write(1, letters("{\"a\":1}"));
    write(2, letters("{\"a\":1}"));

    keep(one);

    assertEquals(List.of("{\"a\":1}"), kept(0));
    assertEquals("{\"dead_letters\":{\"\":{\"count\":1}}}", one.counts().toJson());
  }

  @Test
  void aBatchThatFailedLeavesNothingBehind() throws IOException {
    write(1, letters("{\"a\":1}"));

    stage.clear();

    assertEquals(List.of(), files());
  }

  @Test
  void whatAnAttemptLeftInAStoreIsCopiedAndALateOneAltersNothing(@TempDir Path store)
      throws IOException {
    Staging staging = Staging.inStore(store.toUri().toString(), new Configuration());
    stage = new Stage(List.of(), folder.resolve("batch").toString(), staging, Set.of());
    stage.open();

    Stage.Part ended = write(1, letters("{\"a\":1}", "{\"a\":2}"));
    keep(ended);
    write(2, letters("{\"a\":3}"));

    Path kept = folder.resolve("batch/dead_letters/part-00000.jsonl");
    assertEquals(List.of("{\"a\":1}", "{\"a\":2}"), Files.readAllLines(kept));
    assertEquals(Map.of("dead_letters", 16L), ended.sizes());
  }

  @Test
  void aPartThatIsShorterThanWhatWasWrittenIsNotKept(@TempDir Path store) throws IOException {
    Staging staging = Staging.inStore(store.toUri().toString(), new Configuration());
    stage = new Stage(List.of(), folder.toString(), staging, Set.of());
    Stage.Part ended = write(1, letters("{\"a\":1}", "{\"a\":2}"));

    Files.writeString(store.resolve("1/dead_letters"), "{\"a\":1}\n");
    Files.delete(store.resolve("1/.dead_letters.crc"));

    IOException told = assertThrows(IOException.class, () -> keep(ended));
    assertTrue(told.getMessage().endsWith("has 8 bytes, and 16 were written to it"));
  }

  /** What the driver does once it has the results of all tasks. */
  private void keep(Stage.Part part) throws IOException {
    stage.keep(List.of(part));
    stage.clear();
  }

  private Stage.Part write(long attempt, Iterator<InternalRow> rows) {
    try {
      return stage.write(0, attempt, rows);
    } catch (IOException error) {
      throw new AssertionError(error);
    }
  }
}
