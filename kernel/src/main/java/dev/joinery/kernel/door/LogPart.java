package dev.joinery.kernel.door;

import dev.joinery.kernel.files.TopicFiles;
import dev.joinery.kernel.format.Format;
import dev.joinery.kernel.message.Marks;
import java.io.IOException;
import org.apache.spark.sql.catalyst.InternalRow;

/** Records of a log that follow one another: where each stands, and what it tells that is sought. */
abstract class LogPart {
  /** What decodes the records of relations, for one thread. */
  record Formats(int[] relations, Format[] narrow, Format[] whole) {
    void take(ChangeIndex into, int record, long logged, byte[] key, byte[] value) {
      for (int relation : relations) {
        narrow[relation].loggedAt(logged);
        whole[relation].loggedAt(logged);
        into.take(relation, record, narrow[relation], whole[relation], key, value);
      }
    }
  }

  final int topic;
  final Longs begins = new Longs();
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
  abstract void read(Formats formats, boolean counting) throws IOException;

  /** The place of a record, whose log has it under these two numbers. */
  abstract long major(int record);

  abstract long minor(int record);

  /** When its log took a record, in microseconds since 1970. */
  abstract long written(int record);

  /** Leaves out all but the first records. */
  void take(long most) {
    taken = (int) Math.max(0, Math.min(records, most));
    if (taken < records) {
      changes.cut(taken);
    }
  }

  /** Lines of a change file. */
  static final class OfFile extends LogPart {
    final TopicFiles.Part part;
    private final Longs minors = new Longs();

    /** How many lines of its file stand before it, and when the file was written. */
    long linesBefore;

    long writtenAt;
    long lines;

    OfFile(int topic, SoughtColumns[] columns, TopicFiles.Part part) {
      super(topic, columns);
      this.part = part;
    }

    @Override
    void read(Formats formats, boolean counting) throws IOException {
      try (TopicFiles.Reader reader = part.open()) {
        while (reader.next()) {
          if (!counting) {
            take(reader, formats);
          }
          records++;
        }
        lines = reader.lines();
      }
      begins.trim();
      minors.trim();
      changes.trim();
    }

    private void take(TopicFiles.Reader reader, Formats formats) {
      InternalRow row = reader.row();
      begins.add(reader.begin());
      minors.add(reader.minor());
      if (row.isNullAt(6)) {
        byte[] key = row.isNullAt(4) ? null : row.getBinary(4);
        byte[] value = row.isNullAt(5) ? null : row.getBinary(5);
        formats.take(changes, records, Marks.UNKNOWN, key, value);
      } else {
        changes.dead += formats.relations.length;
      }
    }

    @Override
    long major(int record) {
      return part.label();
    }

    @Override
    long minor(int record) {
      return linesBefore + minors.get(record);
    }

    @Override
    long written(int record) {
      return writtenAt;
    }

    TopicFiles.Place place(int record) {
      boolean last = record + 1 == begins.size();
      return part.at(begins.get(record), last ? part.end() : begins.get(record + 1));
    }
  }
}
