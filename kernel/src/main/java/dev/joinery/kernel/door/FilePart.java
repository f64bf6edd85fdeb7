package dev.joinery.kernel.door;

import dev.joinery.kernel.files.TopicFiles;
import dev.joinery.kernel.message.Marks;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Iterator;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.catalyst.InternalRow;

/** Lines of a change file. */
final class FilePart extends LogPart {
  final TopicFiles.Part part;
  private final Longs begins = new Longs();
  private final Longs minors = new Longs();

  /** When the file was written. */
  long writtenAt;

  /** How many lines of its file stand before it. */
  private long linesBefore;

  private long lines;

  FilePart(int topic, SoughtColumns[] columns, TopicFiles.Part part) {
    super(topic, columns);
    this.part = part;
  }

  @Override
  void read(PartReading with, boolean counting) throws IOException {
    try (TopicFiles.Reader reader = part.open()) {
      while (reader.next()) {
        if (!counting) {
          take(reader, with);
        }
        records++;
      }
      lines = reader.lines();
    }
    begins.trim();
    minors.trim();
    changes.trim();
  }

  private void take(TopicFiles.Reader reader, PartReading with) {
    InternalRow row = reader.row();
    begins.add(reader.begin());
    minors.add(reader.minor());
    if (row.isNullAt(6)) {
      byte[] key = row.isNullAt(4) ? null : row.getBinary(4);
      byte[] value = row.isNullAt(5) ? null : row.getBinary(5);
      with.take(this, Marks.UNKNOWN, key, value);
    } else {
      with.refuse(this);
    }
  }

  @Override
  void after(LogPart before) {
    linesBefore =
        before instanceof FilePart file && !part.beginsFile() ? file.linesBefore + file.lines : 0;
  }

  @Override
  long log(int record) {
    return 0;
  }

  @Override
  boolean isOf(int record, long file) {
    return true;
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

  @Override
  Row again(int record, Iterator<InternalRow> lines, long timestamp) {
    InternalRow row = lines.next();
    return RowFactory.create(
        topic,
        major(record),
        minor(record),
        part.name().getBytes(StandardCharsets.UTF_8),
        row.isNullAt(4) ? null : row.getBinary(4),
        row.isNullAt(5) ? null : row.getBinary(5),
        row.isNullAt(6) ? null : row.getUTF8String(6).toString(),
        timestamp,
        null,
        null);
  }
}
