package dev.joinery.kernel.format;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.InputStream;
import java.util.Base64;
import java.util.List;
import org.apache.avro.Schema;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Every message that a real connector sent, by the identity of its table (t_def: default, t_full:
 * full); topics {@code sch} carry schemas. Those in Avro were made of these by Apicurio's converter
 * for Kafka Connect.
 */
class DebeziumMessagesTest {
  private static final String COLUMNS =
      "id int, name string, amt decimal(12,2), ts timestamp, d date, big string, extra int";

  /** Decodes a message and returns what was told, a large text shortened. */
  private static String told(List<String> told) {
    return String.join("; ", told).replaceAll("\"([xyz])\\1{8999}\"", "$1*9000");
  }

  private static JsonNode message(String folder, String file) throws IOException {
    String path = "/" + folder + "/" + file + ".json";
    try (InputStream in = DebeziumMessagesTest.class.getResourceAsStream(path)) {
      return new ObjectMapper().readTree(in);
    }
  }

  private static String json(String file) throws IOException {
    JsonNode message = message("debezium", file);
    JsonNode value = message.get("value_raw");
    Recorder recorder = Recorder.debezium("id", COLUMNS);
    String text = value.isNull() ? null : value.asText();
    return told(recorder.decode(message.get("key_raw").asText(), text));
  }

  private static String avro(String file) throws IOException {
    JsonNode message = message("debezium-avro", file);
    AvroTopic topic = new AvroTopic("debezium-avro", "id", COLUMNS);
    byte[] key = part(topic, message.get("key"));
    return told(topic.recorder.decodeBytes(key, part(topic, message.get("value"))));
  }

  private static byte[] part(AvroTopic topic, JsonNode part) throws IOException {
    if (part.isNull()) {
      return null;
    }
    Schema schema = new Schema.Parser().parse(part.get("schema").asText());
    return topic.encoded(schema, Base64.getDecoder().decode(part.get("data").asText()));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          delete.fix.public.t_def.p0.4  | delete @24952624 [51 NULLS]
          delete.fix.public.t_def.p0.5  | tombstone [51 NULLS]
          delete.fix.public.t_full.p0.4 | delete @24953040 [51 NULLS]
          delete.fix.public.t_full.p0.5 | tombstone [51 NULLS]
          insert.fix.public.t_def.p2.0  | upsert @24909688 [50 ins y*9000]
          insert.fix.public.t_full.p2.0 | upsert @24932432 [50 ins y*9000]
          update_toast_kept.fix.public.t_def.p2.1  | upsert @24933568 [50 upd null] absent {5}
          update_toast_kept.fix.public.t_full.p2.1 | upsert @24933784 [50 upd y*9000]
          update_pk.fix.public.t_def.p2.2  | delete @24943056 [50 NULLS]
          update_pk.fix.public.t_def.p2.3  | tombstone [50 NULLS]
          update_pk.fix.public.t_def.p0.3 | count unavailable_values; upsert @24943056 [51 upd null]
          update_pk.fix.public.t_full.p2.2 | delete @24943344 [50 NULLS]
          update_pk.fix.public.t_full.p2.3 | tombstone [50 NULLS]
          update_pk.fix.public.t_full.p0.3 | upsert @24943344 [51 upd y*9000]
          """)
  void withoutASchema(String file, String expected) throws IOException {
    assertEquals(row(expected, "null", "null"), json(file));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          delete.sch.public.t_full.p0.21 | delete @24953040 [51 NULLS]
          delete.sch.public.t_full.p0.22 | tombstone [51 NULLS]
          insert.sch.public.t_full.p0.16 | upsert @24932432 [50 ins y*9000]
          update_toast_kept.sch.public.t_full.p0.17 | upsert @24933784 [50 upd y*9000]
          update_pk.sch.public.t_full.p0.18 | delete @24943344 [50 NULLS]
          update_pk.sch.public.t_full.p0.19 | tombstone [50 NULLS]
          update_pk.sch.public.t_full.p0.20 | upsert @24943344 [51 upd y*9000]
          """)
  void withASchemaInJsonAndInAvro(String file, String expected) throws IOException {
    // The converter wrote the defaults of the columns in place of their nulls.
    String told = row(expected, "\"1970-01-01T00:00:00Z\"", "\"2026-01-02\"");
    assertEquals(told, json(file));
    assertEquals(told, avro(file));
  }

  /** Returns what {@code [id name big]} stands for; {@code NULLS} are all columns but the id. */
  private static String row(String expected, String ts, String d) {
    return expected
        .replaceAll(
            "\\[(\\d+) NULLS]",
            "{\"id\":$1,\"name\":null,\"amt\":null,\"ts\":null,\"d\":null,\"big\":null,"
                + "\"extra\":null}")
        .replaceAll(
            "\\[(\\d+) (\\w+) (\\S+)]",
            "{\"id\":$1,\"name\":\"$2\",\"amt\":12.50,\"ts\":" + ts + ",\"d\":" + d
                + ",\"big\":$3,\"extra\":7}");
  }
}
