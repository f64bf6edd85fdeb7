package dev.joinery.kernel.kafka;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Map;
import java.util.concurrent.ConcurrentSkipListMap;
import org.apache.spark.SparkContext;
import org.apache.spark.util.AccumulatorContext;
import org.apache.spark.util.AccumulatorV2;

/**
 * What tasks read of topics: how many records, of how many bytes, and the last one of each
 * partition. What a task read twice is counted twice: only the mean is asked for.
 *
 * <p>A task adds to it once; a heartbeat of Spark's may read it meanwhile.
 */
public final class RecordsRead
    extends AccumulatorV2<RecordsRead.Part, Map<String, LastRecord>> {
  private static final ObjectMapper JSON = new ObjectMapper();

  /** What one task read of one partition; {@code last} is null where that was nothing. */
  record Part(long records, long bytes, LastRecord last) {}

  private final Map<String, LastRecord> last = new ConcurrentSkipListMap<>();
  private long records;
  private long bytes;
  private transient Runnable reading = () -> {};

  /** Returns one that hears the tasks of a session. */
  public static RecordsRead of(SparkContext spark) {
    RecordsRead read = new RecordsRead();
    spark.register(read);
    return read;
  }

  /** Returns the one with this id, which somebody holds. */
  static RecordsRead known(long id) {
    return (RecordsRead) AccumulatorContext.get(id).get();
  }

  /** Has something run whenever real-time mode has read a part, before Spark commits it. */
  public void whenRead(Runnable reading) {
    this.reading = reading;
  }

  void partIsRead() {
    reading.run();
  }

  /** Returns the mean size of the records read since the last time in bytes; 0 for none. */
  synchronized double mean() {
    double mean = records > 0 ? (double) bytes / records : 0;
    records = 0;
    bytes = 0;
    return mean;
  }

  /**
   * Takes the last record of each partition since the last time, as JSON: by topic and partition,
   * {@code [offset, millis, key, value]}.
   */
  public synchronized String take() {
    ObjectNode topics = JSON.createObjectNode();
    last.values().forEach(each -> each.tell(topics));
    last.clear();
    return topics.toString();
  }

  @Override
  public synchronized void add(Part part) {
    records += part.records;
    bytes += part.bytes;
    if (part.last != null) {
      note(part.last);
    }
  }

  private void note(LastRecord record) {
    last.merge(
        record.place(), record, (one, other) -> one.offset() > other.offset() ? one : other);
  }

  @Override
  public synchronized void merge(AccumulatorV2<Part, Map<String, LastRecord>> other) {
    RecordsRead read = (RecordsRead) other;
    records += read.records;
    bytes += read.bytes;
    read.last.values().forEach(this::note);
  }

  @Override
  public boolean isZero() {
    return records == 0 && last.isEmpty();
  }

  @Override
  public RecordsRead copy() {
    RecordsRead copy = new RecordsRead();
    copy.merge(this);
    return copy;
  }

  @Override
  public synchronized void reset() {
    records = 0;
    bytes = 0;
    last.clear();
  }

  @Override
  public Map<String, LastRecord> value() {
    return last;
  }
}
