package dev.joinery.kernel.kafka;

import java.io.IOException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.streaming.PartitionOffset;
import org.apache.spark.sql.connector.read.streaming.SupportsRealTimeRead;

/** Reads the records of one task, in batches or in real time, and tells what they were. */
final class CountingReader implements SupportsRealTimeRead<InternalRow> {
  private final PartitionReader<InternalRow> reader;
  private final RecordsRead read;
  private long records;
  private long bytes;

  /** The row at hand, which holds the record read last until the reader goes on. */
  private InternalRow row;

  /** Of what was read to its end: a row at which reading failed may be half written. */
  private LastRecord last;

  private CountingReader(PartitionReader<InternalRow> reader, RecordsRead read) {
    this.reader = reader;
    this.read = read;
  }

  /** Returns a factory whose readers are counted. */
  static PartitionReaderFactory counted(PartitionReaderFactory factory, RecordsRead read) {
    return new Factory(factory, read);
  }

  private record Factory(PartitionReaderFactory factory, RecordsRead read)
      implements PartitionReaderFactory {
    @Override
    public PartitionReader<InternalRow> createReader(InputPartition partition) {
      return new CountingReader(factory.createReader(partition), read);
    }
  }

  @Override
  public boolean next() throws IOException {
    return goesOn(reader.next());
  }

  @Override
  public RecordStatus nextWithTimeout(Long startedAt, Long timeoutMs) throws IOException {
    RecordStatus status = live().nextWithTimeout(startedAt, timeoutMs);
    goesOn(status.hasRecord());
    return status;
  }

  @Override
  public PartitionOffset getOffset() {
    goesOn(false);
    return live().getOffset();
  }

  private SupportsRealTimeRead<InternalRow> live() {
    return (SupportsRealTimeRead<InternalRow>) reader;
  }

  private boolean goesOn(boolean more) {
    if (!more && row != null) {
      last = LastRecord.of(row);
      row = null;
    }
    return more;
  }

  @Override
  public InternalRow get() {
    row = reader.get();
    records++;
    bytes += length(row, LastRecord.KEY) + length(row, LastRecord.VALUE);
    return row;
  }

  /** Returns the length of bytes without copying them: the lower half of their field's word. */
  private static long length(InternalRow row, int field) {
    return row.isNullAt(field) ? 0 : (int) ((UnsafeRow) row).getLong(field);
  }

  @Override
  public CustomTaskMetric[] currentMetricsValues() {
    return reader.currentMetricsValues();
  }

  @Override
  public void initMetricsValues(CustomTaskMetric[] metrics) {
    reader.initMetricsValues(metrics);
  }

  @Override
  public void close() throws IOException {
    read.add(new RecordsRead.Part(records, bytes, last));
    reader.close();
  }
}
