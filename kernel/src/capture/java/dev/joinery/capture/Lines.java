package dev.joinery.capture;

import java.util.Map;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.json.JsonConverter;
import org.apache.kafka.connect.source.SourceRecord;

/** Makes the lines of change files of what a connector tells. */
final class Lines {
  private final String prefix;
  private final long begunAt;
  private final Binlog binlog;
  private final Seal seal;
  private final JsonConverter converter = new JsonConverter();

  /** A line, and the table that it is of. */
  record Line(String table, byte[] json) {}

  /**
   * @param connector the connector's settings
   * @param begunAt the place in PostgreSQL's log that rows get which were read from a table
   * @param written the place of the last row of a binary log that is in the spool
   * @param seal what seals lines
   */
  Lines(Map<String, String> connector, long begunAt, long written, Seal seal) {
    this.seal = seal;
    binlog = new Binlog(written);
    this.prefix = connector.get("topic.prefix") + ".";
    this.begunAt = begunAt;
    converter.configure(
        Map.of(
            "schemas.enable", "false",
            "replace.null.with.default", "false",
            "decimal.format", "NUMERIC"),
        false);
  }

  /** Returns the line of a row; null where a record is of none. */
  Line of(SourceRecord record) {
    boolean row = record.topic().startsWith(prefix);
    if (row && record.value() instanceof Struct value && value.schema().field("source") != null) {
      Struct source = value.getStruct("source");
      // A logical message, such as a heartbeat's, is of no table.
      boolean named = source.schema().field("table") != null;
      String name = named ? source.getString("table") : null;
      if (name != null && !name.isEmpty()) {
        // Not the topic, in which some characters of a table's name stand as others.
        String table = source.getString(Binlog.told(source) ? "db" : "schema") + "." + name;
        boolean counted = Binlog.told(source);
        Struct told = counted ? binlog.placed(table, value, source, record.sourceOffset()) : value;
        if (told == null) {
          return null;
        }
        if (!counted) {
          place(source);
          value.put("transaction", null);
        }
        byte[] json = converter.fromConnectData(record.topic(), told.schema(), told);
        return new Line(table, seal.of(table, json));
      }
    }
    return null;
  }

  /**
   * Gives a row that was read from a table a place before all that is followed.
   *
   * <p>The connector gives it that from which it follows the log. A transaction that was open then
   * may have written before it, and what it wrote would count as older than the row.
   */
  private void place(Struct source) {
    String snapshot = source.getString("snapshot");
    if (snapshot != null && !"false".equals(snapshot)) {
      source.put("lsn", begunAt);
    }
  }

  /** Returns the place of the last row of a binary log that was told; 0 where there is none. */
  long last() {
    return binlog.last();
  }

  /**
   * Returns whether the connector, begun there, tells all that comes after: a commit's place.
   *
   * <p>That of a row in a binary log is where its transaction begins.
   */
  static boolean ends(Map<String, ?> offset) {
    boolean reading =
        offset.containsKey("snapshot") && !Boolean.TRUE.equals(offset.get("snapshot_completed"));
    Object kind = offset.get("messageType");
    return !reading && (kind == null || "COMMIT".equals(kind));
  }
}
