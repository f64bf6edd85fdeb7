package dev.joinery.kernel.kafka;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.joinery.kernel.admission.BatchOptions;
import dev.joinery.kernel.admission.BatchSize;
import dev.joinery.kernel.admission.Rest;
import java.io.IOException;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.ReadLimit;
import org.apache.spark.sql.connector.read.streaming.ReadMaxRows;
import org.apache.spark.sql.connector.read.streaming.SupportsTriggerAvailableNow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import scala.jdk.javaapi.CollectionConverters;

class KafkaStreamTest {
  private static final long GIB = 1L << 30;
  private static final UnsafeProjection PROJECTION =
      UnsafeProjection.create(
          new DataType[] {
            DataTypes.BinaryType,
            DataTypes.BinaryType,
            DataTypes.StringType,
            DataTypes.IntegerType,
            DataTypes.LongType,
            DataTypes.LongType
          });

  private final Topic topic = new Topic();
  private RecordsRead read;
  private KafkaStream stream = open(Map.of("maxRowsPerBatch", "0"));
  private Offset at = new At(0);
  private long now;
  private final Ends ends = new Ends();

  private KafkaStream open(Map<String, String> options) {
    BatchOptions parsed = BatchOptions.of(new CaseInsensitiveStringMap(options));
    BatchSize size = new BatchSize(parsed, () -> GIB, () -> now);
    size.measured(parsed.rowBytes());
    read = new RecordsRead();
    return new KafkaStream(topic, size, read, new Rest(0), () -> ends);
  }

  /** Reads one batch and returns its records. */
  private long batch() throws IOException {
    Offset end = stream.latestOffset(at, stream.getDefaultReadLimit());
    long records = KafkaStream.records(at, end);
    topic.reads = (int) Math.min(records, 10);
    try (PartitionReader<InternalRow> reader =
        stream.createReaderFactory().createReader(new InputPartition() {})) {
      while (reader.next()) {
        reader.get();
      }
    }
    now += 5_000;
    at = end;
    return records;
  }

  @Test
  void aFewRecordsTellHowLargeTheOthersAre() throws IOException {
    topic.end = 10_000_000;
    topic.recordBytes = 1024;

    assertEquals(KafkaStream.UNKNOWN_RECORDS, batch());
    assertEquals(100_000, batch());
    assertEquals(GIB / 2 / 1024, batch());
    assertEquals("memory", stream.metrics(java.util.Optional.empty()).get("batch.bound"));
  }

  @Test
  void theLastRecordOfWhatWasReadToItsEndIsTold() throws IOException {
    topic.end = 3;
    topic.recordBytes = 1;
    long sum = LastRecord.sum(new byte[1]);

    batch();

    assertEquals("{\"t\":{\"0\":[3,7,null," + sum + "]}}", read.take());
    assertEquals("{}", read.take());
    try (PartitionReader<InternalRow> broken =
        stream.createReaderFactory().createReader(new InputPartition() {})) {
      broken.next();
      broken.get();
    }
    assertEquals("{}", read.take());
  }

  @Test
  void recordsOfManyMebibytesAreReadAFewAtATime() throws IOException {
    topic.end = 1_000_000;
    topic.recordBytes = 8 << 20;

    batch();

    assertEquals(64, batch());
    assertEquals(64, batch());
  }

  @Test
  void aBacklogThatGrowsFasterThanItIsReadIsReadAsFastAsMemoryAllows() throws IOException {
    topic.recordBytes = 1024;
    topic.end = 10_000_000;
    batch();
    batch();
    for (int i = 0; i < 10; i++) {
      topic.end += 10_000_000;
      assertEquals(GIB / 2 / 1024, batch());
    }
  }

  @Test
  void atItsEndABatchTakesWhatThereIsAndAsksOnce() throws IOException {
    topic.end = 70;

    assertEquals(70, batch());
    assertEquals(0, batch());
    assertEquals(2, topic.asked);
  }

  @Test
  void onceItHasFoundNothingTheConnectorIsAskedOnlyWhereThereIsNews() throws IOException {
    topic.end = 70;
    assertFalse(stream.hadNothing()); // it never looked
    batch();
    assertFalse(stream.hadNothing());
    batch();
    assertTrue(stream.hadNothing());
    int asked = topic.asked;

    ends.stand = true;
    assertEquals(0, batch());
    assertEquals(0, batch());
    assertEquals(asked, topic.asked);

    topic.end = 90;
    ends.stand = false;
    assertEquals(20, batch());
    assertFalse(stream.hadNothing());
    ends.stand = true; // as one that was asked before the records came
    topic.end = 95;
    assertEquals(5, batch());
    assertEquals(asked + 2, topic.asked);

    stream.stop();
    assertEquals(true, ends.closed);
  }

  @Test
  @Timeout(60)
  void aClientThatDoesNotEndKeepsNobodyFromEnding() {
    topic.stopped = new CountDownLatch(1);

    stream.stop();

    assertEquals(1, topic.stopped.getCount());
    topic.stopped.countDown();
  }

  @Test
  void aRunThatEndsAtTheEndsOfItsLogsAsksTheConnector() {
    topic.end = 70;
    ends.stand = true;
    at = new At(70);
    stream.prepareForTriggerAvailableNow();

    stream.latestOffset(at, stream.getDefaultReadLimit());
    stream.latestOffset(at, stream.getDefaultReadLimit());

    assertEquals(2, topic.asked);
  }

  @Test
  void aNumberOfRecordsIsObeyedAndSoAreBytesFromTheFirstBatchOn() throws IOException {
    topic.end = 100;
    stream = open(Map.of("maxRowsPerBatch", "30"));
    assertEquals(30, batch());

    stream =
        open(Map.of("maxRowsPerBatch", "30", "maxBytesPerBatch", "1000", "rowBytes", "100"));
    assertEquals(10, batch());
  }

  @Test
  void withoutTopicsThereIsNoBatch() {
    topic.end = -1;

    assertNull(stream.latestOffset(at, stream.getDefaultReadLimit()));
    assertTrue(stream.hadNothing());
    topic.end = 1;
    stream.latestOffset(at, stream.getDefaultReadLimit());
    assertFalse(stream.hadNothing());
  }

  @Test
  void recordsAreCountedByPartitionAndNewOnesFromTheirBeginning() {
    Offset from = new At("{\"t\":{\"0\":5,\"1\":7}}");
    Offset to = new At("{\"t\":{\"0\":6,\"1\":9,\"2\":4},\"u\":{\"0\":1}}");

    assertEquals(1 + 2 + 4 + 1, KafkaStream.records(from, to));
  }

  /** Returns a row as the connector has it, with a value of so many bytes. */
  private static UnsafeRow row(long offset, int bytes) {
    InternalRow record =
        InternalRow.fromSeq(
            CollectionConverters.asScala(
                    Arrays.<Object>asList(
                        null, new byte[bytes], UTF8String.fromString("t"), 0, offset, 7_000L))
                .toSeq());
    return PROJECTION.apply(record);
  }

  /** Says of any offset that nothing is new, or that something is. */
  private static final class Ends implements TopicEnds {
    boolean stand;
    boolean closed;

    @Override
    public boolean standAt(Offset offset) {
      return stand;
    }

    @Override
    public void close() {
      closed = true;
    }
  }

  /** A place in one partition. */
  private static final class At extends Offset {
    private final String json;

    At(long record) {
      this("{\"t\":{\"0\":" + record + "}}");
    }

    At(String json) {
      this.json = json;
    }

    @Override
    public String json() {
      return json;
    }
  }

  /** A topic of one partition that has {@code end} records of equal size. */
  private static final class Topic implements MicroBatchStream, SupportsTriggerAvailableNow {
    long end;
    int recordBytes = 128;
    int reads;
    int asked;
    CountDownLatch stopped = new CountDownLatch(0);

    @Override
    public Offset latestOffset(Offset start, ReadLimit limit) {
      asked++;
      long from = KafkaStream.records(new At(0), start);
      long most = limit instanceof ReadMaxRows rows ? rows.maxRows() : end - from;
      return end < 0 ? null : new At(Math.min(end, from + most));
    }

    @Override
    public PartitionReaderFactory createReaderFactory() {
      return partition ->
          new PartitionReader<>() {
            private int left = reads;

            @Override
            public boolean next() {
              return left-- > 0;
            }

            @Override
            public InternalRow get() {
              return row(reads - left, recordBytes);
            }

            @Override
            public void close() {}
          };
    }

    @Override
    public void prepareForTriggerAvailableNow() {}

    @Override
    public Offset latestOffset() {
      throw new UnsupportedOperationException();
    }

    @Override
    public InputPartition[] planInputPartitions(Offset start, Offset end) {
      return new InputPartition[0];
    }

    @Override
    public Offset initialOffset() {
      return new At(0);
    }

    @Override
    public Offset deserializeOffset(String json) {
      return new At(json);
    }

    @Override
    public void commit(Offset end) {}

    @Override
    public void stop() {
      try {
        stopped.await();
      } catch (InterruptedException ending) {
        Thread.currentThread().interrupt();
      }
    }
  }
}
