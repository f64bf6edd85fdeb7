package dev.joinery.kernel.format;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.management.ManagementFactory;
import java.util.List;
import org.junit.jupiter.api.Test;

class DebeziumJsonTest {
  private final Recorder pair = Recorder.debezium("id", "id bigint, name string");

  @Test
  void updateWithTheSameKeyIsOneUpsert() {
    assertEquals(
        List.of("upsert @5 {\"id\":1,\"name\":\"b\"}"),
        pair.event("u", "{\"id\":1,\"name\":\"a\"}", "{\"id\":1,\"name\":\"b\"}"));
  }

  @Test
  void commitAtTheSourceIsTold() {
    String event = "{\"after\":{\"id\":1},\"source\":{\"ts_ms\":%s,\"lsn\":5},\"op\":\"c\"}";
    List<String> upsert = List.of("upsert @5 {\"id\":1,\"name\":null}");

    assertEquals(upsert, pair.decode(null, event.formatted("1795250395683")));
    assertEquals(1795250395683L, pair.committed);
    for (String no : List.of("\"today\"", "null")) {
      assertEquals(upsert, pair.decode(null, event.formatted(no)));
      assertEquals(-1, pair.committed);
    }
  }

  @Test
  void updateOfTheKeyDeletesTheOldRowFirst() {
    assertEquals(
        List.of(
            "delete @5 {\"id\":1,\"name\":null}", "upsert @5 {\"id\":2,\"name\":\"b\"}"),
        pair.event("u", "{\"id\":1,\"name\":\"a\"}", "{\"id\":2,\"name\":\"b\"}"));
  }

  @Test
  void keyWrittenInAnotherWayIsNoKeyChange() {
    Recorder text = Recorder.debezium("id", "id string");

    assertEquals(
        List.of("upsert @5 {\"id\":\"A\"}"),
        text.event("u", "{\"id\":\"\\u0041\"}", "{\"id\":\"A\"}"));
  }

  @Test
  void nullFilledBeforeIsNoKeyChange() {
    assertEquals(
        List.of("upsert @5 {\"id\":2,\"name\":\"b\"}"),
        pair.event("u", "{\"id\":null,\"name\":null}", "{\"id\":2,\"name\":\"b\"}"));
  }

  @Test
  void partOfACompositeKeyInBeforeIsNoKeyChange() {
    Recorder composite = Recorder.debezium("a,b", "a int, b int");

    assertEquals(
        List.of("upsert @5 {\"a\":1,\"b\":2}"),
        composite.event("u", "{\"a\":9}", "{\"a\":1,\"b\":2}"));
  }

  @Test
  void columnLeftOutOfAnUpdateIsAbsent() {
    assertEquals(
        List.of("upsert @5 {\"id\":1,\"name\":null} absent {1}"),
        pair.event("u", "null", "{\"id\":1}"));
  }

  @Test
  void columnLeftOutOfACreateIsNull() {
    assertEquals(
        List.of("upsert @5 {\"id\":1,\"name\":null}"), pair.event("c", "null", "{\"id\":1}"));
  }

  @Test
  void placeholderOfAnyTypeIsAbsent() {
    Recorder many =
        Recorder.debezium(
            "id",
            "id int, a bigint, b binary, c array<string>, d array<int>,"
                + " e map<string,string>, f timestamp");
    StringBuilder codes = new StringBuilder();
    "__debezium_unavailable_value".chars().forEach(each -> codes.append(",").append(each));

    assertEquals(
        List.of(
            "upsert @5 {\"id\":1,\"a\":null,\"b\":null,\"c\":null,\"d\":null,\"e\":null,"
                + "\"f\":null} absent {1, 2, 3, 4, 5, 6}"),
        many.event(
            "u",
            "null",
            "{\"id\":1,\"a\":\"__debezium_unavailable_value\","
                + "\"b\":\"X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ==\","
                + "\"c\":[\"__debezium_unavailable_value\"],\"d\":["
                + codes.substring(1)
                + "],\"e\":{\"__debezium_unavailable_value\":\"__debezium_unavailable_value\"},"
                + "\"f\":\"__debezium_unavailable_value\"}"));
  }

  @Test
  void deleteWithoutBeforeTakesTheMessageKey() {
    assertEquals(
        List.of("delete {\"id\":3,\"name\":null}"),
        pair.decode("{\"id\":3}", "{\"before\":null,\"after\":null,\"op\":\"d\"}"));
  }

  @Test
  void deleteWithoutAnyKeyIsADeadLetterThatNamesTheFix() {
    assertEquals(
        List.of(
            "key_missing: a delete without its key column \"id\": set REPLICA IDENTITY so that"
                + " deletes carry the key, or send the message's key"),
        pair.event("d", "{\"name\":\"a\"}", "null"));
  }

  @Test
  void tombstoneThatLacksAKeyColumnIsCounted() {
    assertEquals(
        List.of("count tombstones_without_key"), pair.decode("{\"x\":1}", (String) null));
    assertEquals(List.of("count tombstones_without_key"), pair.decode(null, (String) null));
  }

  @Test
  void nullKeyColumnIsADeadLetter() {
    assertEquals(
        List.of("key_missing: key column \"id\" is null"),
        pair.event("c", "null", "{\"id\":null,\"name\":\"a\"}"));
  }

  @Test
  void messagesAreCountedAndTruncatesAreDeadLetters() {
    assertEquals(List.of("count ignored_messages"), pair.event("m", "null", "null"));
    assertEquals(
        List.of("truncate: the table was truncated at the source; its rows stay here"),
        pair.event("t", "null", "null"));
  }

  @Test
  void blankValueIsADeadLetter() {
    assertEquals(
        List.of("undecodable: the value is empty, which is not a delete: a null value is"),
        pair.decode("{\"id\":1}", " \r"));
  }

  @Test
  void changeWithoutAnLsnHasNoPosition() {
    assertEquals(
        List.of("upsert {\"id\":1,\"name\":null}"),
        pair.decode(null, "{\"op\":\"r\",\"after\":{\"id\":1},\"source\":{\"lsn\":null}}"));
  }

  @Test
  void lastOfTwoEqualNamesWins() {
    assertEquals(
        List.of("upsert @5 {\"id\":2,\"name\":null}"),
        pair.event("c", "null", "{\"name\":\"x\"},\"after\":{\"id\":1,\"id\":2}"));
  }

  @Test
  void brokenRecordsAreUndecodable() {
    assertEquals(
        List.of("undecodable: the JSON text ends too early"), pair.decode(null, "{\"op\":\"c\""));
    assertEquals(
        List.of("undecodable: not JSON at byte 9"), pair.decode(null, "{\"op\":\"c\"]"));
    assertEquals(
        List.of("undecodable: the value is not a JSON object"), pair.decode(null, "[1]"));
    assertEquals(
        List.of("undecodable: no \"op\": not a change event of Debezium"),
        pair.decode(null, "{\"id\":1}"));
    assertEquals(
        List.of("undecodable: not UTF-8 at byte 2"),
        pair.decode(null, new byte[] {'{', '"', (byte) 0xff, '"', '}'}));
    assertEquals(
        List.of("undecodable: not JSON at byte 18"),
        pair.decode(null, "{\"op\":\"c\",\"after\":nul}"));
  }

  @Test
  void wrongTypesNameColumnAndType() {
    assertEquals(
        List.of("wrong_type: column \"id\": text where long is declared"),
        pair.event("c", "null", "{\"id\":\"1\"}"));
    assertEquals(
        List.of("wrong_type: column \"id\": a fraction does not fit long"),
        pair.event("c", "null", "{\"id\":1.5}"));
    assertEquals(
        List.of("out_of_range: column \"id\": the number does not fit long"),
        pair.event("c", "null", "{\"id\":9223372036854775808}"));
    assertEquals(
        List.of("wrong_type: column \"name\": a number where string is declared"),
        pair.event("c", "null", "{\"id\":1,\"name\":2}"));
  }

  @Test
  void failedKeyChangeTellsNothingButTheDeadLetter() {
    assertEquals(
        List.of("wrong_type: column \"name\": a number where string is declared"),
        pair.event("u", "{\"id\":1,\"name\":\"a\"}", "{\"id\":2,\"name\":5}"));
  }

  @Test
  void positionColumnOfTheRelationComesFirst() {
    Recorder own =
        new Recorder("debezium-json", "id", "id int", ",\"position\":\"version\"");

    assertEquals(
        List.of("upsert @42 {\"id\":1}"), own.event("c", "null", "{\"id\":1,\"version\":42}"));
  }

  private static String withSchema(String fields, String after) {
    return String.format(
        "{\"schema\":{\"type\":\"struct\",\"fields\":[{\"type\":\"struct\",\"field\":\"after\","
            + "\"fields\":[%s]}]},\"payload\":{\"op\":\"c\",\"after\":%s}}",
        fields, after);
  }

  private static String field(String name, String type, String meaning, String more) {
    return String.format(
        "{\"field\":\"%s\",\"type\":\"%s\",\"name\":\"%s\"%s}", name, type, meaning, more);
  }

  @Test
  void schemasDecideWhatNumbersMean() {
    String ddl =
        "id int, a timestamp, b timestamp, c timestamp_ntz, d date, e decimal(10,2),"
            + " f decimal(30,3), g string, h string";
    String fields =
        String.join(
            ",",
            field("a", "int64", "io.debezium.time.Timestamp", ""),
            field("b", "int64", "io.debezium.time.NanoTimestamp", ""),
            field("c", "int64", "io.debezium.time.MicroTimestamp", ""),
            field("d", "int32", "io.debezium.time.Date", ""),
            field(
                "e",
                "bytes",
                "org.apache.kafka.connect.data.Decimal",
                ",\"parameters\":{\"scale\":\"2\"}"),
            field("f", "struct", "io.debezium.data.VariableScaleDecimal", ""),
            field("g", "int64", "io.debezium.time.MicroTime", ""),
            field("h", "int32", "io.debezium.time.Date", ""));
    String after =
        "{\"id\":1,\"a\":1767323045123,\"b\":1767323045123456789,\"c\":1767323045000000,"
            + "\"d\":20455,\"e\":\"BOI=\",\"f\":{\"scale\":3,\"value\":\"/w==\"},"
            + "\"g\":3723000004,\"h\":20455}";

    assertEquals(
        List.of(
            "upsert {\"id\":1,\"a\":\"2026-01-02T03:04:05.123000Z\","
                + "\"b\":\"2026-01-02T03:04:05.123456Z\",\"c\":\"2026-01-02T03:04:05\","
                + "\"d\":\"2026-01-02\",\"e\":12.50,\"f\":-0.001,\"g\":\"01:02:03.000004\","
                + "\"h\":\"2026-01-02\"}"),
        Recorder.debezium("id", ddl).decode(null, withSchema(fields, after)));
  }

  @Test
  void recordsWithAndWithoutSchemasMayMix() {
    Recorder mixed = Recorder.debezium("id", "id int, at timestamp");
    String fields = field("at", "int64", "io.debezium.time.Timestamp", "");
    String schema = withSchema(fields, "{\"id\":1,\"at\":1000}");
    List<String> expected = List.of("upsert {\"id\":1,\"at\":\"1970-01-01T00:00:01Z\"}");

    assertEquals(expected, mixed.decode(null, schema));
    assertEquals(
        List.of("upsert @5 {\"id\":1,\"at\":\"1970-01-01T00:00:00.001000Z\"}"),
        mixed.event("c", "null", "{\"id\":1,\"at\":1000}"));
    assertEquals(expected, mixed.decode(null, schema));
  }

  @Test
  void schemaThatChangesIsReadAgain() {
    Recorder mixed = Recorder.debezium("id", "id int, at timestamp");
    String millis = field("at", "int64", "io.debezium.time.Timestamp", "");
    String micros = field("at", "int64", "io.debezium.time.MicroTimestamp", "");

    mixed.decode(null, withSchema(millis, "{\"id\":1,\"at\":1000}"));

    assertEquals(
        List.of("upsert {\"id\":1,\"at\":\"1970-01-01T00:00:00.001000Z\"}"),
        mixed.decode(null, withSchema(micros, "{\"id\":1,\"at\":1000}")));
  }

  @Test
  void nullPayloadUnderASchemaIsATombstone() {
    assertEquals(
        List.of("tombstone {\"id\":1,\"name\":null}"),
        pair.decode("{\"id\":1}", "{\"schema\":null,\"payload\":null}"));
  }

  @Test
  void aNullSchemaIsNoSchema() {
    String event =
        "{\"schema\":%s,\"payload\":{\"after\":{\"id\":1,\"name\":\"b\"},"
            + "\"source\":{\"lsn\":5},\"op\":\"c\"}}";
    String schema =
        "{\"type\":\"struct\",\"fields\":[{\"field\":\"after\",\"type\":\"struct\",\"fields\":"
            + "[{\"field\":\"id\",\"type\":\"int64\"},{\"field\":\"name\",\"type\":\"string\"}]}]}";

    for (String each : List.of("null", schema, "null", schema)) {
      assertEquals(
          List.of("upsert @5 {\"id\":1,\"name\":\"b\"}"), pair.decode(null, event.formatted(each)));
    }
  }

  @Test
  void aNullSchemaIsNotParsedForEachRecord() {
    String payload =
        "{\"after\":{\"id\":1,\"name\":\"b\"},\"source\":{\"lsn\":5},\"op\":\"c\"}";
    long plain = allocatedBy(payload);
    long wrapped = allocatedBy("{\"schema\":null,\"payload\":" + payload + "}");

    assertTrue(wrapped < 3 * plain, wrapped + " bytes, and without a wrapper " + plain);
  }

  private long allocatedBy(String event) {
    var threads = (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
    pair.decode(null, event);
    long before = threads.getCurrentThreadAllocatedBytes();
    for (int i = 0; i < 100; i++) {
      pair.decode(null, event);
    }
    return threads.getCurrentThreadAllocatedBytes() - before;
  }
}
