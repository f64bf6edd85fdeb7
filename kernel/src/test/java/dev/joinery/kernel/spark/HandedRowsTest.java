package dev.joinery.kernel.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.apache.spark.TaskContext$;
import org.apache.spark.TaskContextImpl;
import org.apache.spark.TaskKilledException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import scala.collection.Iterator;

final class HandedRowsTest {
  private static final long MUCH = 1 << 30;
  private static final int LARGER_THAN_A_PAGE = 3 << 20;

  @TempDir private Path folder;
  private final List<File> files = new ArrayList<>();

  @Test
  void eachTaskTakesWhatAllHaveLeftForIt() {
    HandedRows handed = handedRows(MUCH);
    List<UnsafeRow> rows = random(2_000);

    leave(handed, 0, rows.subList(0, 500));
    leave(handed, 1, rows.subList(500, 2_000));

    assertEquals(texts(ofTask(rows, 0)), taken(handed, 0));
    assertEquals(texts(ofTask(rows, 1)), taken(handed, 1));
    assertTrue(files.isEmpty());
  }

  @Test
  void whatIsTooMuchForMemoryStandsInFilesUntilItIsTaken() {
    HandedRows handed = handedRows(1 << 14);
    List<UnsafeRow> rows = random(2_000);

    leave(handed, 0, rows);
    leave(handed, 1, List.of());

    assertEquals(2, files.stream().filter(File::exists).count());
    assertEquals(texts(ofTask(rows, 0)), taken(handed, 0));
    assertEquals(texts(ofTask(rows, 1)), taken(handed, 1));
    assertFalse(files.stream().anyMatch(File::exists));
  }

  @Test
  void aRowMayBeLargerThanAPage() {
    HandedRows handed = handedRows(MUCH);
    List<UnsafeRow> rows = List.of(row(new byte[10], 1), row(new byte[LARGER_THAN_A_PAGE], 1));

    leave(handed, 0, rows);
    leave(handed, 1, List.of());

    assertEquals(texts(rows), taken(handed, LocalExchange.taskOf(rows.get(0), 2)));
  }

  @Test
  void whatATaskHadLeftBeforeItFailedIsNotLeftTwice() {
    HandedRows handed = handedRows(MUCH);
    handed.from(1);

    assertThrows(IllegalStateException.class, () -> handed.from(1));
  }

  @Test
  void aTaskThatIsKilledTakesNoMore() {
    HandedRows handed = handedRows(MUCH);
    leave(handed, 0, random(10));
    leave(handed, 1, random(10));
    TaskContextImpl task = TaskContext$.MODULE$.empty();
    Iterator<InternalRow> rows = handed.to(0, task);
    rows.next();

    task.markInterrupted("the batch has failed");

    assertThrows(TaskKilledException.class, rows::hasNext);
  }

  private HandedRows handedRows(long mostBytes) {
    return new HandedRows(2, 2, mostBytes, this::file, () -> false);
  }

  private File file() {
    File file = folder.resolve("rows" + files.size()).toFile();
    files.add(file);
    return file;
  }

  private static void leave(HandedRows handed, int task, List<UnsafeRow> rows) {
    HandedRows.Leaving leaving = handed.from(task);
    rows.forEach(row -> leaving.add(row, LocalExchange.taskOf(row, 2)));
    leaving.end();
  }

  private static List<String> taken(HandedRows handed, int task) {
    List<String> texts = new ArrayList<>();
    Iterator<InternalRow> rows = handed.to(task, TaskContext$.MODULE$.empty());
    while (rows.hasNext()) {
      texts.add(rows.next().toString());
    }
    return texts;
  }

  private static List<UnsafeRow> ofTask(List<UnsafeRow> rows, int task) {
    return rows.stream().filter(row -> LocalExchange.taskOf(row, 2) == task).toList();
  }

  private static List<String> texts(List<UnsafeRow> rows) {
    return rows.stream().map(UnsafeRow::toString).toList();
  }

  static List<UnsafeRow> random(int count) {
    Random random = new Random(5);
    return IntStream.range(0, count)
        .mapToObj(i -> row(new byte[random.nextInt(200)], random.nextInt(300)))
        .toList();
  }

  static UnsafeRow row(byte[] message, int address) {
    UnsafeRowWriter writer = new UnsafeRowWriter(2);
    writer.reset();
    writer.zeroOutNullBytes();
    writer.write(0, message);
    writer.write(1, ("address " + address).getBytes(java.nio.charset.StandardCharsets.UTF_8));
    return writer.getRow().copy();
  }
}
