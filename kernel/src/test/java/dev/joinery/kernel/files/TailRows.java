package dev.joinery.kernel.files;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.streaming.Offset;

/**
 * Lines of change files as texts: the end of the file's number, the line, and what it holds.
 *
 * @param digits how many of the number's last digits are shown
 */
record TailRows(int digits) {
  private static final int NUMBER = 16;

  String of(InternalRow row) {
    String file = new String(row.getBinary(3), StandardCharsets.UTF_8);
    String value = new String(row.getBinary(5), StandardCharsets.UTF_8);
    String number = file.substring(NUMBER - digits, NUMBER);
    return number + ":" + row.getLong(2) + "=" + value;
  }

  /** What a batch of a stream has. */
  List<String> of(FilesStream stream, Offset start, Offset end) throws IOException {
    List<String> rows = new ArrayList<>();
    for (InputPartition partition : stream.planInputPartitions(start, end)) {
      try (PartitionReader<InternalRow> each =
          stream.createReaderFactory().createReader(partition)) {
        while (each.next()) {
          rows.add(of(each.get()));
        }
      }
    }
    return rows;
  }
}
