package dev.joinery.kernel.kafka;

import java.io.IOException;
import java.io.Serializable;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.util.LongAccumulator;

/**
 * Counts the records that tasks read, and the bytes of their keys and values. What a task read twice is counted twice:
 * only the mean is asked for.
 */
final class RecordSizes implements Serializable {
  private static final int KEY = 0;
  private static final int VALUE = 1;

  private final LongAccumulator records;
  private final LongAccumulator bytes;

  /** Counts with accumulators that Spark knows, where tasks are to be heard. */
  RecordSizes(LongAccumulator records, LongAccumulator bytes) {
    this.records = records;
    this.bytes = bytes;
  }

  static RecordSizes ofTasks() {
    SparkContext spark = SparkContext.getOrCreate();
    return new RecordSizes(spark.longAccumulator(), spark.longAccumulator());
  }

  /** Returns the mean size of the records read since the last time in bytes; 0 for none. */
  double mean() {
    double mean = records.value() > 0 ? (double) bytes.value() / records.value() : 0;
    records.reset();
    bytes.reset();
    return mean;
  }

  /** Returns a factory whose readers are counted. */
  PartitionReaderFactory counted(PartitionReaderFactory factory) {
    return new Counting(factory, this);
  }

  private record Counting(PartitionReaderFactory factory, RecordSizes sizes)
      implements PartitionReaderFactory {
    @Override
    public PartitionReader<InternalRow> createReader(InputPartition partition) {
      return new CountingReader(factory.createReader(partition), sizes);
    }
  }

  /** Reads the records of one task. */
  private static final class CountingReader implements PartitionReader<InternalRow> {
    private final PartitionReader<InternalRow> reader;
    private final RecordSizes sizes;
    private long records;
    private long bytes;

    CountingReader(PartitionReader<InternalRow> reader, RecordSizes sizes) {
      this.reader = reader;
      this.sizes = sizes;
    }

    @Override
    public boolean next() throws IOException {
      return reader.next();
    }

    @Override
    public InternalRow get() {
      InternalRow row = reader.get();
      records++;
      bytes += length(row, KEY) + length(row, VALUE);
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
      sizes.records.add(records);
      sizes.bytes.add(bytes);
      reader.close();
    }
  }
}
