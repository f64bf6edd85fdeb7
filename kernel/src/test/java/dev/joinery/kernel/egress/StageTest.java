package dev.joinery.kernel.egress;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.Counters;
import dev.joinery.kernel.message.Event;
import dev.joinery.kernel.message.Message;
import dev.joinery.kernel.message.Replacement;
import dev.joinery.kernel.program.Program;
import dev.joinery.kernel.render.ByteSink;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.ArrayList;
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
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Several attempts of one task stage their lines, and only those of the one that ended count. */
class StageTest {
  private static final StructType NONE = new StructType();

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
    stage = new Stage(List.of(), folder.resolve("batch").toString(), staging, Set.of(), Set.of());
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
    stage = new Stage(List.of(), folder.toString(), staging, Set.of(), Set.of());
    Stage.Part ended = write(1, letters("{\"a\":1}", "{\"a\":2}"));

    Files.writeString(store.resolve("1/dead_letters"), "{\"a\":1}\n");
    Files.delete(store.resolve("1/.dead_letters.crc"));

    IOException told = assertThrows(IOException.class, () -> keep(ended));
    assertTrue(told.getMessage().endsWith("has 8 bytes, and 16 were written to it"));
  }

  @Test
  void aLineTellsWhatItReplacesWhereThatIsKnownAndItsProductIsToTell() throws IOException {
    Slice replaced = new Replacement(true, 10, false, 0).toBytes();

    String line = "{\"key\":{},\"value\":null,\"version\":7";
    String told = ",\"before\":\"000000000000000a\",\"after\":\"\"";
    assertEquals(List.of(line + told + "}"), tombstone(replaced, Set.of("p")));
    assertEquals(List.of(line + "}"), tombstone(Replacement.UNKNOWN, Set.of("p")));
    assertEquals(List.of(line + "}"), tombstone(replaced, Set.of()));
  }

  /** Stages a tombstone; returns its lines. */
  private List<String> tombstone(Slice replaced, Set<String> settling) throws IOException {
    Program.ProductProgram product = new Program.ProductProgram("p", NONE, NONE);
    Path batch = Files.createTempDirectory(folder, "batch");
    stage = new Stage(List.of(product), batch.toString()).settling(settling);
    byte[] message = Message.tombstone(1, 0, 7, replaced, Slice.EMPTY);
    InternalRow row = new GenericInternalRow(new Object[] {message});
    stage.open();
    stage.keep(List.of(stage.write(0, 1, List.of(row).iterator())));
    return Files.readAllLines(batch.resolve("p").resolve("part-00000.jsonl"));
  }

  @Test
  void ofARepeatedKeyOnlyTheRewrittenPartIsPutBackAndOnlyWhereTasksReadIt(@TempDir Path store)
      throws IOException {
    assertEquals(List.of(1), putBack(store, Set.of("p")));
    assertEquals(List.of(), putBack(store, Set.of()));
  }

  /** Keeps two parts with one key, the newer in part 0; returns which were put in the store again. */
  private List<Integer> putBack(Path store, Set<String> readByTasks) throws IOException {
    Program.ProductProgram product = new Program.ProductProgram("p", NONE, NONE);
    Staging staging = Staging.inStore(store.toUri().toString(), new Configuration());
    stage = new Stage(List.of(product), folder.toString(), staging, readByTasks, Set.of());
    List<Stage.Part> parts = List.of(document(staging, 0, 2), document(staging, 1, 1));
    FileTime before = FileTime.fromMillis(0);
    Files.setLastModifiedTime(store.resolve("0/p"), before);
    Files.setLastModifiedTime(store.resolve("1/p"), before);

    stage.keep(parts);

    List<Integer> changed = new ArrayList<>();
    for (int part = 0; part < 2; part++) {
      if (!Files.getLastModifiedTime(store.resolve(part + "/p")).equals(before)) {
        changed.add(part);
      }
    }
    return changed;
  }

  /** Leaves a part with one document, of a key that all have; returns what its task returns. */
  private static Stage.Part document(Staging staging, int number, int place) throws IOException {
    String line = "{\"key\":{\"k\":1},\"value\":null,\"version\":" + place + "}\n";
    byte[] bytes = line.getBytes(StandardCharsets.UTF_8);
    ByteSink sink = new ByteSink(64);
    sink.append(bytes);
    ByteWriter at = new ByteWriter();
    new Event.Place(true, 0, 0, place).write(at);
    LineIndex index = new LineIndex();
    index.add(sink, 7, 14, Slice.of(at.toBytes()));
    try (OutputStream out = staging.create(number, "p")) {
      out.write(bytes);
    }
    Map<String, Long> sizes = Map.of("p", (long) bytes.length);
    return new Stage.Part(number, number, sizes, Map.of("p", index.toBytes()), new Counters());
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
