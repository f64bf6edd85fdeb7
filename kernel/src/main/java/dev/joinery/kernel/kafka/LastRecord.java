package dev.joinery.kernel.kafka;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.Serializable;
import java.util.zip.CRC32C;
import org.apache.spark.sql.catalyst.InternalRow;

/**
 * By what the record at an offset is known again.
 *
 * @param timeMillis since 1970; -1 where the log tells none
 * @param key a checksum of its key; null without one
 * @param value a checksum of its value; null for a tombstone
 */
record LastRecord(
    String topic, int partition, long offset, long timeMillis, Long key, Long value)
    implements Serializable {
  static final int KEY = 0;
  static final int VALUE = 1;
  private static final int TOPIC = 2;
  private static final int PARTITION = 3;
  private static final int OFFSET = 4;
  private static final int TIMESTAMP = 5;
  private static final int MICROS = 1000;

  /** Returns how a row of Spark's connector is known again. */
  static LastRecord of(InternalRow row) {
    return new LastRecord(
        row.getUTF8String(TOPIC).toString(),
        row.getInt(PARTITION),
        row.getLong(OFFSET),
        Math.floorDiv(row.getLong(TIMESTAMP), MICROS),
        sum(row.isNullAt(KEY) ? null : row.getBinary(KEY)),
        sum(row.isNullAt(VALUE) ? null : row.getBinary(VALUE)));
  }

  /** Returns where it stands, but for the offset. */
  String place() {
    return topic + "-" + partition;
  }

  /** Adds it to others as JSON: by topic and partition, {@code [offset, millis, key, value]}. */
  void tell(ObjectNode topics) {
    topics
        .withObjectProperty(topic)
        .putArray(Integer.toString(partition))
        .add(offset)
        .add(timeMillis)
        .add(key)
        .add(value);
  }

  /** Returns a checksum that is the same on every version of Java. */
  static Long sum(byte[] data) {
    if (data == null) {
      return null;
    }
    CRC32C sum = new CRC32C();
    sum.update(data);
    return sum.getValue();
  }
}
