package dev.joinery.capture;

import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.connect.data.Field;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaBuilder;
import org.apache.kafka.connect.data.Struct;

/**
 * The binary log of MySQL or MariaDB, whose places are one number each; remembers the transaction
 * at hand, how many of its rows came, and the last schema of each table.
 *
 * <p>The number of the log's file stands before the position in it. The rows of a transaction are
 * counted on from where it begins, since not every server tells where each of them is: it is longer
 * than it has rows, so that the next one begins beyond them all, and it counts the same when it is
 * read again. A row that was read from a table has the place of the log's end at that time, which
 * is where the next transaction begins.
 */
final class Binlog {
  private static final String PLACE = "lsn";
  private static final int POSITION_BITS = 33;

  private final Map<String, Placed> known = new HashMap<>();
  private final long written;
  private long begin = -1;
  private long rows;
  private long last;

  /** What a schema of events is, and is with a place. */
  private record Placed(Schema from, Schema to) {}

  /**
   * @param written the place of the last row that is in the spool: those up to it come again where
   *     their transaction is read again
   */
  Binlog(long written) {
    this.written = written;
    last = written;
  }

  /** Returns whether rows of that origin are of a binary log. */
  static boolean told(Struct source) {
    return source.schema().field("pos") != null;
  }

  /** Returns the place of a position in a file of the log. */
  static long place(Object file, Object position) {
    String name = (String) file;
    String number = name.substring(name.lastIndexOf('.') + 1);
    return (Long.parseLong(number) << POSITION_BITS) + ((Number) position).longValue();
  }

  /**
   * Returns an event that tells the place of its row as the format reads it; null where the row is
   * in the spool.
   *
   * @param offset where the connector would go on: the beginning of the row's transaction
   */
  Struct placed(String table, Struct event, Struct source, Map<String, ?> offset) {
    long place = placeOf(source, offset);
    if (place <= written) {
      return null;
    }
    last = place;
    Schema to = known.compute(table, (name, before) -> same(before, event.schema())).to();
    Struct origin = new Struct(to.field("source").schema());
    source.schema().fields().forEach(each -> origin.put(each.name(), source.get(each)));
    origin.put(PLACE, place);
    Struct made = new Struct(to);
    for (Field each : event.schema().fields()) {
      if (!each.name().equals("transaction")) {
        made.put(each.name(), each.name().equals("source") ? origin : Cells.told(event.get(each)));
      }
    }
    return made;
  }

  /** Returns the place of the last row that was told. */
  long last() {
    return last;
  }

  private long placeOf(Struct source, Map<String, ?> offset) {
    String snapshot = source.getString("snapshot");
    if (snapshot != null && !"false".equals(snapshot)) {
      return place(source.get("file"), source.get("pos"));
    }
    long from = place(offset.get("file"), offset.get("pos"));
    rows = from == begin ? rows + 1 : 1;
    begin = from;
    return begin + rows;
  }

  private static Placed same(Placed before, Schema from) {
    return before != null && before.from() == from ? before : new Placed(from, with(from));
  }

  private static Schema with(Schema event) {
    SchemaBuilder made = SchemaBuilder.struct().name(event.name());
    for (Field each : event.fields()) {
      made.field(each.name(), each.name().equals("source") ? origin(each.schema()) : each.schema());
    }
    return made.build();
  }

  private static Schema origin(Schema source) {
    SchemaBuilder made = SchemaBuilder.struct().name(source.name());
    source.fields().forEach(each -> made.field(each.name(), each.schema()));
    return made.field(PLACE, Schema.INT64_SCHEMA).build();
  }
}
