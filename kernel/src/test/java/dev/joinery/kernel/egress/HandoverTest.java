package dev.joinery.kernel.egress;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;
import org.apache.spark.sql.ForeachWriter;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The driver is given the newest document of each key once it is noted, and tasks wait for it. */
@Timeout(60)
final class HandoverTest {
  @TempDir private Path checkpoint;
  @TempDir private Path folder;
  private Handover handover;

  @BeforeEach
  void open() {
    handover = new Handover(checkpoint.toString());
  }

  @AfterEach
  void close() throws IOException {
    handover.close();
  }

  private static byte[] utf8(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private static Row row(String product, String key, String value, long version) {
    byte[] told = value == null ? null : utf8(value);
    return RowFactory.create(product, utf8(key), told, "v", utf8(Long.toString(version)));
  }

  private ForeachWriter<Row> task(long interval) {
    ForeachWriter<Row> task = handover.writer();
    assertTrue(task.open(0, interval));
    return task;
  }

  @Test
  void eachKeyIsGivenOnceAtItsNewest() throws Exception {
    ForeachWriter<Row> task = task(3);
    task.process(row("p", "{\"id\":1}", "{\"n\":1}", 5));
    task.process(row("p", "{\"id\":2}", null, 6));
    task.process(row("p", "{\"id\":1}", "{\"n\":2}", 7));

    String told = handover.take(folder.toString(), 0);

    assertEquals("{\"interval\":3,\"products\":{\"p\":2},\"letters\":0}", told);
    assertEquals(
        "{\"key\":{\"id\":1},\"value\":{\"n\":2},\"version\":7}\n"
            + "{\"key\":{\"id\":2},\"value\":null,\"version\":6}\n",
        Files.readString(folder.resolve("p.jsonl")));
    assertEquals(
        "{\"product\":\"p\",\"key\":\"{\\\"id\\\":1}\",\"version\":7}\n"
            + "{\"product\":\"p\",\"key\":\"{\\\"id\\\":2}\",\"version\":6}\n",
        Files.readString(checkpoint.resolve("real_time.sent.3")));
  }

  @Test
  void whatAnIntervalBeforeSentIsForgotten() throws Exception {
    task(3).process(row("p", "{\"id\":1}", "{}", 5));
    handover.take(folder.toString(), 0);
    task(4).process(row("p", "{\"id\":1}", "{}", 6));

    handover.take(folder.toString(), 0);

    assertFalse(Files.exists(checkpoint.resolve("real_time.sent.3")));
    assertTrue(Files.exists(checkpoint.resolve("real_time.sent.4")));
  }

  @Test
  void whatARunHasSentThatTookOverStaysNoted() throws Exception {
    Path other = Files.writeString(checkpoint.resolve("real_time.sent.7"), "{}\n");
    task(3).process(row("p", "{\"id\":1}", "{}", 5));

    handover.take(folder.toString(), 0);

    assertTrue(Files.exists(other));
  }

  @Test
  void deadLettersAreNoRoots() throws Exception {
    task(3).process(row(Handover.LETTERS, "id", "{\"reason\":\"r\"}", 5));

    String told = handover.take(folder.toString(), 0);

    assertEquals("{\"interval\":3,\"products\":{},\"letters\":1}", told);
    assertEquals("{\"reason\":\"r\"}\n", Files.readString(folder.resolve(".letters.jsonl")));
    assertFalse(Files.exists(checkpoint.resolve("real_time.sent.3")));
  }

  @Test
  void theFileOfLettersIsThatOfNoProduct() throws Exception {
    ForeachWriter<Row> task = task(3);
    task.process(row("letters", "{\"id\":1}", "{}", 5));
    task.process(row(Handover.LETTERS, "id", "{\"reason\":\"r\"}", 5));

    handover.take(folder.toString(), 0);

    assertEquals(
        "{\"key\":{\"id\":1},\"value\":{},\"version\":5}\n",
        Files.readString(folder.resolve("letters.jsonl")));
  }

  @Test
  void aTaskEndsOnceAllThatItGaveIsWritten() throws Exception {
    ForeachWriter<Row> task = task(3);
    task.process(row("p", "{\"id\":1}", "{}", 5));
    CountDownLatch ended = new CountDownLatch(1);
    Thread ending =
        new Thread(
            () -> {
              task.close(null);
              ended.countDown();
            });
    ending.start();
    handover.take(folder.toString(), 0);
    assertEquals(1, ended.getCount());

    handover.done();

    ended.await();
  }

  @Test
  void aTaskFailsOnceWhatItGaveIsNotWrittenAnyMore() throws Exception {
    ForeachWriter<Row> task = task(3);
    task.process(row("p", "{\"id\":1}", "{}", 5));
    handover.take(folder.toString(), 0);

    handover.close();

    assertThrows(IllegalStateException.class, () -> task.close(null));
  }

  @Test
  void nothingComesWhereNothingIsGiven() throws Exception {
    assertEquals("", handover.take(folder.toString(), 1));
  }
}
