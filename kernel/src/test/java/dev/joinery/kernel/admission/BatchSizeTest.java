package dev.joinery.kernel.admission;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Map;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.junit.jupiter.api.Test;

class BatchSizeTest {
  private static final long MANY = 1L << 40;
  private static final long GIB = 1L << 30;

  private long now;
  private long memory = GIB;
  private BatchSize size = sized(Map.of());

  private BatchSize sized(Map<String, String> more) {
    Map<String, String> options = new java.util.HashMap<>(more);
    options.putIfAbsent("maxRowsPerBatch", "0");
    return new BatchSize(
        BatchOptions.of(new CaseInsensitiveStringMap(options)), () -> memory, () -> now);
  }

  /** Takes a whole batch of rows of so many bytes, which lasts so long, and returns its rows. */
  private long batch(long rowBytes, long lastsMs) {
    BatchSize.Limit most = size.next(MANY);
    long rows = Math.min(most.rows(), Math.max(1, most.bytes() / rowBytes));
    size.took(rows, rows * rowBytes, true);
    now += lastsMs;
    return rows;
  }

  private String bound() {
    return size.metrics().get("batch.bound");
  }

  @Test
  void theFirstBatchIsSmallAndWhileBatchesAreShortTheyGrow() {
    assertEquals(BatchSize.FIRST_ROWS, batch(100, 5_000));
    assertEquals(8 * BatchSize.FIRST_ROWS, batch(100, 5_000));
    assertEquals("time", bound());
  }

  @Test
  void batchesComeToLastAsLongAsTheyShould() {
    batch(100, 5_000);
    long rows = batch(100, 40_000);

    assertEquals(rows / 2, batch(100, 25_000));
    assertEquals(rows / 2 * 20 / 25, batch(100, 20_000));
  }

  @Test
  void oneSlowBatchShrinksTheNextToAQuarterAtMost() {
    batch(100, 5_000);
    long rows = batch(100, 10 * 60_000);

    assertEquals(rows / 4, batch(100, 1));
  }

  @Test
  void bytesAreBoundByMemory() {
    batch(1 << 20, 100);

    assertEquals(512, batch(1 << 20, 100));
    assertEquals("memory", bound());
    assertEquals(512, batch(1 << 20, 100));
  }

  @Test
  void whereNobodyWaitsOnlyMemoryBoundsWhatFollowsAShortFirstBatch() {
    size = sized(Map.of("paced", "false"));

    assertEquals(BatchSize.WARMING_ROWS, batch(100, 60_000));
    assertEquals(GIB / BatchSize.ROW_BYTES, batch(100, 600_000));
    assertEquals("memory", bound());
    assertEquals(GIB / BatchSize.ROW_BYTES, batch(100, 1));
  }

  @Test
  void rowsAreBoundByMemoryHoweverSmallTheyAre() {
    batch(1, 100);
    batch(1, 100);

    assertEquals(GIB / BatchSize.ROW_BYTES, batch(1, 100));
    assertEquals("memory", bound());
  }

  @Test
  void recordsOfManyMebibytesComeAFewAtATime() {
    memory = 4 << 20;

    assertEquals(2, batch(8 << 20, 100));
    assertEquals(2, batch(8 << 20, 100));
  }

  @Test
  void manySourcesShareTheMemory() {
    size = sized(Map.of("memoryShare", "0.25"));

    assertEquals(128, batch(1 << 20, 100));
  }

  @Test
  void aSmallRestIsTakenWithTheLastBatch() {
    size.measured(100);

    assertTrue(size.next(BatchSize.FIRST_ROWS * 5 / 4).rows() >= BatchSize.FIRST_ROWS * 5 / 4);
    assertEquals(BatchSize.FIRST_ROWS, size.next(BatchSize.FIRST_ROWS * 2).rows());
  }

  @Test
  void aBatchThatLeavesNothingIsBoundByTheBacklogAndTeachesNothing() {
    size.next(10);
    size.took(10, 1000, false);
    now += 10 * 60_000;

    assertEquals("backlog", bound());
    assertEquals(BatchSize.FIRST_ROWS, size.next(MANY).rows());
  }

  @Test
  void waitingForATriggerIsNotWork() {
    size = sized(Map.of("triggerMillis", "60000"));
    batch(100, 60_000);

    assertEquals(8 * BatchSize.FIRST_ROWS, batch(100, 120_000));
    assertEquals(4 * BatchSize.FIRST_ROWS, batch(100, 60_000));
  }

  @Test
  void lookingForWorkBetweenBatchesTeachesNothing() {
    batch(100, 5_000);
    size.next(0);
    now += 60_000;

    assertEquals(8 * BatchSize.FIRST_ROWS, size.next(MANY).rows());
  }

  @Test
  void aNumberOfRowsIsObeyed() {
    size = sized(Map.of("maxRowsPerBatch", "7", "maxBytesPerBatch", "100"));

    assertEquals(new BatchSize.Limit(7, 100), size.next(MANY));
    assertEquals(Map.of(), size.metrics());
  }

  @Test
  void theBytesOfTheProjectBindNearerThanMemory() {
    size = sized(Map.of("maxBytesPerBatch", "1000"));

    assertEquals(10, batch(100, 100));
    assertEquals("setting", bound());
  }

  @Test
  void aStoreSaysHowManyRowsAreTooMany() {
    size = sized(Map.of("mostRowsPerBatch", "200000"));
    batch(100, 100);

    assertEquals(200_000, batch(100, 100));
  }
}
