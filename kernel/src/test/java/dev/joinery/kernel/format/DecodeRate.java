package dev.joinery.kernel.format;

import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.apache.avro.Schema;
import org.apache.avro.SchemaBuilder;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericRecord;

/**
 * Prints how many changes a second one core decodes; run by hand. {@code -Dformat=avro} measures
 * one format alone, as a run does.
 */
final class DecodeRate implements ChangeSink {
  private static final String RELATION =
      """
      [{"name": "pull_request", "format": "%s", "key": ["repo", "repo_owner", "index"],
        "columns": [
          {"name": "title", "type": "string"}, {"name": "repo", "type": "string"},
          {"name": "repo_owner", "type": "string"}, {"name": "index", "type": "bigint"},
          {"name": "author", "type": "string"}, {"name": "status", "type": "string"},
          {"name": "created_at", "type": "timestamp"}]}]
      """;
  private static final String ROW =
      """
      {"title":"Fix the thing number %1$d","repo":"repo-%1$d","repo_owner":"owner-%1$d",\
      "index":%1$d,"author":"user-%1$d","status":"open",\
      "created_at":"2026-01-02T03:04:05.123456Z"}""";
  private static final String EVENT =
      """
      {"before":null,"after":%2$s,"source":{"version":"3.7.0.Final",\
      "connector":"postgresql","name":"github","ts_ms":1795250395683,"snapshot":"false",\
      "db":"postgres","sequence":"[\\"24952624\\",\\"24952624\\"]",\
      "ts_us":1795250395683800,"ts_ns":1795250395683800000,"schema":"public",\
      "table":"pull_request","txId":809,"lsn":%1$d,"xmin":null,"origin":null,\
      "origin_lsn":null},"transaction":null,"op":"u","ts_ms":1795250395752,\
      "ts_us":1795250395752299,"ts_ns":1795250395752299019}""";

  private long changes;
  private long others;

  @Override
  public void change(
      int relation, int op, boolean positioned, long position, byte[] row, int length, long[] no) {
    changes++;
  }

  @Override
  public void deadLetter(int relation, String reason, String detail) {
    others++;
  }

  @Override
  public void count(int relation, String counter) {
    others++;
  }

  private static void measure(String format, List<byte[]> records) {
    measure(format, Formats.of(RELATION.formatted(format), options -> null)[0], records);
  }

  private static void measure(String format, Format decoder, List<byte[]> records) {
    String only = System.getProperty("format", format);
    if (!only.equals(format)) {
      return;
    }
    long bytes = records.stream().mapToLong(each -> each.length).sum();
    for (int round = 0; round < 10; round++) {
      DecodeRate sink = new DecodeRate();
      long start = cpuNanos();
      for (byte[] record : records) {
        decoder.decode(0, null, record, sink);
      }
      double seconds = (cpuNanos() - start) / 1e9;
      System.out.printf(
          "%s: %,.0f changes/s, %,.0f MB/s (%d changes, %d others, %d bytes each)%n",
          format,
          records.size() / seconds,
          bytes / seconds / 1e6,
          sink.changes,
          sink.others,
          bytes / records.size());
    }
  }

  /** The time of this thread's core: other work on the machine does not count. */
  private static long cpuNanos() {
    return ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
  }

  private static void measureAvro() {
    String ddl =
        "title string, repo string, repo_owner string, index bigint, author string,"
            + " status string, created_at timestamp";
    Schema row =
        SchemaBuilder.record("Value")
            .fields()
            .requiredString("title")
            .requiredString("repo")
            .requiredString("repo_owner")
            .requiredLong("index")
            .optionalString("author")
            .optionalString("status")
            .optionalString("created_at")
            .endRecord();
    Schema source =
        SchemaBuilder.record("Source")
            .fields()
            .requiredString("version")
            .requiredString("connector")
            .requiredString("name")
            .requiredLong("ts_ms")
            .optionalString("snapshot")
            .requiredString("db")
            .optionalString("sequence")
            .requiredString("schema")
            .requiredString("table")
            .optionalLong("txId")
            .optionalLong("lsn")
            .optionalLong("xmin")
            .endRecord();
    Schema envelope =
        SchemaBuilder.record("Envelope")
            .fields()
            .name("before").type().optional().type(row)
            .name("after").type().optional().type(row)
            .name("source").type(source).noDefault()
            .requiredString("op")
            .optionalLong("ts_ms")
            .endRecord();
    String key = "repo,repo_owner,index";
    AvroTopic events = new AvroTopic("debezium-avro", key, ddl);
    AvroTopic rows = new AvroTopic("avro", key, ddl);
    List<byte[]> eventMessages = new ArrayList<>();
    List<byte[]> rowMessages = new ArrayList<>();
    for (long i = 100_000; i < 200_000; i++) {
      GenericRecord after = avroRow(row, i);
      GenericRecord from = new GenericData.Record(source);
      source.getFields().stream()
          .filter(each -> each.schema().getType() == Schema.Type.STRING)
          .forEach(each -> from.put(each.name(), "postgresql"));
      from.put("ts_ms", 1795250395683L);
      from.put("sequence", "[\"24952624\",\"24952624\"]");
      from.put("txId", 809L);
      from.put("lsn", i);
      GenericRecord event = new GenericData.Record(envelope);
      event.put("after", after);
      event.put("source", from);
      event.put("op", "u");
      event.put("ts_ms", 1795250395752L);
      eventMessages.add(events.message(envelope, event));
      rowMessages.add(rows.message(row, after));
    }
    measure("debezium-avro", events.recorder.format, eventMessages);
    measure("avro", rows.recorder.format, rowMessages);
  }

  private static GenericRecord avroRow(Schema schema, long i) {
    GenericRecord row = new GenericData.Record(schema);
    row.put("title", "Fix the thing number " + i);
    row.put("repo", "repo-" + i);
    row.put("repo_owner", "owner-" + i);
    row.put("index", i);
    row.put("author", "user-" + i);
    row.put("status", "open");
    row.put("created_at", "2026-01-02T03:04:05.123456Z");
    return row;
  }

  public static void main(String[] arguments) {
    List<byte[]> rows = new ArrayList<>();
    List<byte[]> events = new ArrayList<>();
    for (long i = 100_000; i < 200_000; i++) {
      String row = ROW.formatted(i);
      rows.add(row.getBytes(StandardCharsets.UTF_8));
      events.add(EVENT.formatted(i, row).getBytes(StandardCharsets.UTF_8));
    }
    measure("debezium-json", events);
    measure("json", rows);
    measureAvro();
  }
}
