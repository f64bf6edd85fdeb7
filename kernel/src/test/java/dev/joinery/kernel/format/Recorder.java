package dev.joinery.kernel.format;

import dev.joinery.kernel.render.ByteSink;
import dev.joinery.kernel.render.JsonWriter;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.StructType;

/** One relation under test: decodes records, and remembers as text what the format told. */
final class Recorder implements ChangeSink {
  private static final String[] OPS = {"upsert", "delete", "tombstone"};

  final StructType type;
  final List<byte[]> rows = new ArrayList<>();
  final Format format;

  /** When the source committed the record decoded last; negative where it does not say. */
  long committed;

  private final List<String> told = new ArrayList<>();

  /**
   * @param key column names, comma-separated
   * @param ddl the columns as Spark DDL
   * @param more further options of the relation as JSON, each with a comma before it
   */
  Recorder(String formatName, String key, String ddl, String more) {
    this(formatName, key, ddl, more, null);
  }

  /**
   * @param schemas those of the messages, null where the format has none
   */
  Recorder(String formatName, String key, String ddl, String more, Schemas schemas) {
    type = StructType.fromDDL(ddl);
    List<String> columns = new ArrayList<>();
    for (var field : type.fields()) {
      columns.add(
          "{\"name\":\"" + field.name() + "\",\"type\":\"" + field.dataType().sql() + "\"}");
    }
    String keys = "\"" + key.replace(",", "\",\"") + "\"";
    String json =
        String.format(
            "[{\"name\":\"t\",\"format\":\"%s\",\"key\":[%s],\"columns\":[%s]%s}]",
            formatName, keys, String.join(",", columns), more);
    format = Formats.of(json, options -> schemas)[0];
  }

  static Recorder debezium(String key, String ddl) {
    return new Recorder("debezium-json", key, ddl, "");
  }

  static Recorder flat(String key, String ddl) {
    return new Recorder("json", key, ddl, "");
  }

  /** Decodes one record and returns what was told of it. */
  List<String> decode(String key, String value) {
    return decode(key, value == null ? null : value.getBytes(StandardCharsets.UTF_8));
  }

  List<String> decode(String key, byte[] value) {
    return decodeBytes(key == null ? null : key.getBytes(StandardCharsets.UTF_8), value);
  }

  List<String> decodeBytes(byte[] key, byte[] value) {
    told.clear();
    rows.clear();
    committed = -1;
    format.decode(7, key, value, this);
    return List.copyOf(told);
  }

  /** An event of Debezium without schemas. */
  List<String> event(String op, String before, String after) {
    return decode(
        null,
        String.format(
            "{\"before\":%s,\"after\":%s,\"source\":{\"lsn\":5},\"op\":\"%s\"}",
            before, after, op));
  }

  @Override
  public void change(
      int relation,
      int op,
      boolean positioned,
      long position,
      byte[] row,
      int rowLength,
      long[] absent) {
    byte[] copy = Arrays.copyOf(row, rowLength);
    rows.add(copy);
    UnsafeRow view = new UnsafeRow(type.length());
    view.pointTo(copy, rowLength);
    ByteSink json = new ByteSink(64);
    new JsonWriter(type).write(view, json);
    String text = new String(json.toByteArray(), StandardCharsets.UTF_8);
    String missing = absent == null ? "" : " absent " + BitSet.valueOf(absent);
    told.add(OPS[op] + (positioned ? " @" + position : "") + " " + text + missing);
  }

  @Override
  public void committed(int relation, long millis) {
    committed = millis;
  }

  @Override
  public void deadLetter(int relation, String reason, String detail) {
    told.add(reason + ": " + detail);
  }

  @Override
  public void count(int relation, String counter) {
    told.add("count " + counter);
  }
}
