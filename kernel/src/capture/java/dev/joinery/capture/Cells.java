package dev.joinery.capture;

import org.apache.kafka.connect.data.Field;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.Struct;

/** Makes what a connector tells of a binary log what it tells of a row that is read from a table. */
final class Cells {
  private static final String ENUM = "io.debezium.data.Enum";
  private static final String TIMESTAMP = "io.debezium.time.ZonedTimestamp";
  private static final String ZERO = "1970-01-01T00:00:00";

  private Cells() {}

  /** Returns a part of an event; the cells of a row are mended in place. */
  static Object told(Object part) {
    if (part instanceof Struct row) {
      for (Field each : row.schema().fields()) {
        if (row.get(each) instanceof String text) {
          mend(row, each, text);
        }
      }
    }
    return part;
  }

  private static void mend(Struct row, Field field, String text) {
    Schema schema = field.schema();
    if (ENUM.equals(schema.name()) && text.contains("\\,")) {
      row.put(field, text.replace("\\,", ",")); // as the list of values has it
    } else if (TIMESTAMP.equals(schema.name()) && schema.isOptional() && text.startsWith(ZERO)) {
      row.put(field, null); // zeros: the least that a timestamp can be is a second later
    }
  }
}
