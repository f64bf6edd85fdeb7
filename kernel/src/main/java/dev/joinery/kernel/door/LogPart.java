package dev.joinery.kernel.door;

import java.io.IOException;
import java.util.Iterator;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;

/** Records of a log that follow one another: where each stands, and what it tells that is sought. */
abstract class LogPart {
  final int topic;
  final ChangeIndex changes;

  /** How many records it has; those behind the most that are read count, but are not known. */
  int records;

  /** How many of them are read. */
  int taken;

  /** Whether it has been read. */
  volatile boolean done;

  LogPart(int topic, SoughtColumns[] columns) {
    this.topic = topic;
    changes = new ChangeIndex(columns);
  }

  /** Reads all of it, or only counts its records. */
  abstract void read(PartReading with, boolean counting) throws IOException;

  /** Takes note of what stands in front of it: the part before, or null. */
  void after(LogPart before) {}

  /** Which log of its topic has a record: changes of different logs are ordered by other rules. */
  abstract long log(int record);

  /** Whether the log that has a record has those of a file, or a partition, by its number. */
  abstract boolean isOf(int record, long major);

  /** The place of a record, whose log has it under these two numbers. */
  abstract long major(int record);

  abstract long minor(int record);

  /** When its log took a record, in microseconds since 1970. */
  abstract long written(int record);

  /**
   * Returns a record as {@link dev.joinery.kernel.ingress.Ingress#COLUMNS} has it.
   *
   * @param lines the records of files that are asked for, in order
   */
  abstract Row again(int record, Iterator<InternalRow> lines, long timestamp) throws IOException;

  /** Leaves out all but the first records. */
  void take(long most) {
    taken = (int) Math.max(0, Math.min(records, most));
    if (taken < records) {
      changes.cut(taken);
    }
  }
}
