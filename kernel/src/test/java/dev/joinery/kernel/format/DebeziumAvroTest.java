package dev.joinery.kernel.format;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class DebeziumAvroTest {
  private static final String ID = "{\"name\":\"id\",\"type\":\"int\"}";
  private static final String NAME =
      "{\"name\":\"name\",\"type\":[\"null\",\"string\"],\"default\":null}";

  private final AvroTopic pair = new AvroTopic("debezium-avro", "id", "id bigint, name string");

  /** The schema of a table's events, as Debezium names its parts. */
  private static String envelope(String... columns) {
    return "{\"type\":\"record\",\"name\":\"Envelope\",\"namespace\":\"fix.public.t\",\"fields\":["
        + "{\"name\":\"before\",\"type\":[\"null\",{\"type\":\"record\",\"name\":\"Value\","
        + "\"fields\":[" + String.join(",", columns) + "]}],\"default\":null},"
        + "{\"name\":\"after\",\"type\":[\"null\",\"Value\"],\"default\":null},"
        + "{\"name\":\"source\",\"type\":{\"type\":\"record\",\"name\":\"Source\",\"fields\":["
        + "{\"name\":\"connector\",\"type\":\"string\"},{\"name\":\"ts_ms\",\"type\":\"long\"},"
        + "{\"name\":\"lsn\",\"type\":[\"null\",\"long\"],\"default\":null},"
        + "{\"name\":\"xmin\",\"type\":[\"null\",\"long\"],\"default\":null}]}},"
        + "{\"name\":\"transaction\",\"type\":[\"null\",{\"type\":\"record\",\"name\":\"block\","
        + "\"fields\":[{\"name\":\"id\",\"type\":\"string\"}]}],\"default\":null},"
        + "{\"name\":\"op\",\"type\":\"string\"},"
        + "{\"name\":\"ts_ms\",\"type\":[\"null\",\"long\"],\"default\":null}]}";
  }

  private static String event(String op, String before, String after) {
    return event(op, before, after, "{\"long\":5}");
  }

  private static String event(String op, String before, String after, String lsn) {
    return "{\"before\":" + image(before) + ",\"after\":" + image(after)
        + ",\"source\":{\"connector\":\"postgresql\",\"ts_ms\":1,\"lsn\":" + lsn
        + ",\"xmin\":null},\"transaction\":{\"fix.public.t.block\":{\"id\":\"809\"}},"
        + "\"op\":\"" + op + "\",\"ts_ms\":null}";
  }

  private static String image(String row) {
    return row == null ? "null" : "{\"fix.public.t.Value\":" + row + "}";
  }

  private static String row(int id, String name) {
    return "{\"id\":" + id + ",\"name\":" + (name == null ? "null" : text(name)) + "}";
  }

  private static String text(String value) {
    return "{\"string\":\"" + value + "\"}";
  }

  private List<String> pair(String op, String before, String after) {
    return pair.decode(envelope(ID, NAME), event(op, before, after));
  }

  @Test
  void eachOperationSaysWhatItSaysInJson() {
    assertEquals(
        List.of("upsert @5 {\"id\":1,\"name\":\"a\"}"), pair("c", null, row(1, "a")));
    assertEquals(
        List.of("upsert @5 {\"id\":1,\"name\":\"a\"}"), pair("r", null, row(1, "a")));
    assertEquals(
        List.of("upsert @5 {\"id\":1,\"name\":\"b\"}"), pair("u", row(1, "a"), row(1, "b")));
    assertEquals(
        List.of("delete @5 {\"id\":1,\"name\":null}"), pair("d", row(1, "a"), null));
    assertEquals(List.of("count ignored_messages"), pair("m", null, null));
    assertEquals(
        List.of("truncate: the table was truncated at the source; its rows stay here"),
        pair("t", null, null));
    assertEquals(
        List.of("undecodable: an \"op\" that Debezium does not document"),
        pair("cc", null, row(1, "a")));
    assertEquals(
        List.of("undecodable: an upsert without \"after\""), pair("u", row(1, "a"), null));
  }

  @Test
  void updateOfTheKeyDeletesTheOldRowFirst() {
    assertEquals(
        List.of(
            "delete @5 {\"id\":1,\"name\":null}", "upsert @5 {\"id\":2,\"name\":\"b\"}"),
        pair("u", row(1, "a"), row(2, "b")));
  }

  @Test
  void changeWithoutAnLsnHasNoPosition() {
    assertEquals(
        List.of("upsert {\"id\":1,\"name\":\"a\"}"),
        pair.decode(envelope(ID, NAME), event("r", null, row(1, "a"), "null")));
  }

  @Test
  void positionColumnOfTheRelationComesFirst() {
    AvroTopic own = new AvroTopic("debezium-avro", "id", "id int", ",\"position\":\"version\"", 4);
    String version = "{\"name\":\"version\",\"type\":\"long\"}";

    assertEquals(
        List.of("upsert @42 {\"id\":1}"),
        own.decode(envelope(ID, version), event("c", null, "{\"id\":1,\"version\":42}")));
  }

  @Test
  void columnThatTheWriterLacksIsAbsentFromAnUpdateAndNullInACreate() {
    assertEquals(
        List.of("upsert @5 {\"id\":1,\"name\":null} absent {1}"),
        pair.decode(envelope(ID), event("u", null, "{\"id\":1}")));
    assertEquals(
        List.of("upsert @5 {\"id\":1,\"name\":null}"),
        pair.decode(envelope(ID), event("c", null, "{\"id\":1}")));
  }

  @Test
  void schemaMayChangeFromOneEventToTheNext() {
    String wide = "{\"name\":\"id\",\"type\":\"long\"}";
    String added = "{\"name\":\"added\",\"type\":[\"null\",\"int\"],\"default\":null}";

    assertEquals(
        List.of("upsert @5 {\"id\":1,\"name\":\"a\"}"), pair("c", null, row(1, "a")));
    assertEquals(
        List.of("upsert @5 {\"id\":9000000000,\"name\":\"b\"}"),
        pair.decode(
            envelope(added, wide, NAME),
            event(
                "u", null, "{\"added\":null,\"id\":9000000000,\"name\":" + text("b") + "}")));
    assertEquals(
        List.of("upsert @5 {\"id\":1,\"name\":\"c\"}"), pair("u", null, row(1, "c")));
  }

  @Test
  void placeholderOfAnyTypeIsAbsent() {
    AvroTopic many =
        new AvroTopic(
            "debezium-avro",
            "id",
            "id int, a string, b binary, c array<string>, d array<int>, e map<string,string>,"
                + " f bigint");
    String list = "{\"type\":\"array\",\"items\":[\"null\",\"%s\"]}";
    String schema =
        envelope(
            ID,
            "{\"name\":\"a\",\"type\":[\"null\",\"string\"]}",
            "{\"name\":\"b\",\"type\":\"bytes\"}",
            "{\"name\":\"c\",\"type\":" + list.formatted("string") + "}",
            "{\"name\":\"d\",\"type\":" + list.formatted("int") + "}",
            "{\"name\":\"e\",\"type\":{\"type\":\"map\",\"values\":\"string\"}}",
            "{\"name\":\"f\",\"type\":\"string\"}");
    String placeholder = "__debezium_unavailable_value";
    List<String> codes = new ArrayList<>();
    placeholder.chars().forEach(each -> codes.add("{\"int\":" + each + "}"));
    String after =
        "{\"id\":1,\"a\":" + text(placeholder) + ",\"b\":\"" + placeholder + "\",\"c\":["
            + text(placeholder) + "],\"d\":[" + String.join(",", codes) + "],\"e\":{\""
            + placeholder + "\":\"" + placeholder + "\"},\"f\":\"" + placeholder + "\"}";

    assertEquals(
        List.of(
            "upsert @5 {\"id\":1,\"a\":null,\"b\":null,\"c\":null,\"d\":null,\"e\":null,"
                + "\"f\":null} absent {1, 2, 3, 4, 5, 6}"),
        many.decode(schema, event("u", null, after)));
  }

  @Test
  void unavailableValueInACreateIsNullAndCounted() {
    assertEquals(
        List.of("count unavailable_values", "upsert @5 {\"id\":1,\"name\":null}"),
        pair("c", null, row(1, "__debezium_unavailable_value")));
  }

  @Test
  void deleteWithoutBeforeTakesTheMessageKey() {
    byte[] key =
        pair.message(
            "{\"type\":\"record\",\"name\":\"Key\",\"fields\":[" + ID + "]}", "{\"id\":3}");
    byte[] value = pair.message(envelope(ID, NAME), event("d", null, null));

    assertEquals(
        List.of("delete @5 {\"id\":3,\"name\":null}"), pair.recorder.decodeBytes(key, value));
    assertEquals(
        List.of(
            "key_missing: a delete without its key column \"id\": set REPLICA IDENTITY so that"
                + " deletes carry the key, or send the message's key"),
        pair.recorder.decodeBytes(null, value));
  }

  @Test
  void tombstoneIsKnownByItsKey() {
    byte[] key =
        pair.message(
            "{\"type\":\"record\",\"name\":\"Key\",\"fields\":[" + ID + "]}", "{\"id\":3}");

    assertEquals(
        List.of("tombstone {\"id\":3,\"name\":null}"), pair.recorder.decodeBytes(key, null));
  }

  @Test
  void failedKeyChangeTellsNothingButTheDeadLetter() {
    AvroTopic strict = new AvroTopic("debezium-avro", "id", "id bigint, name int");

    assertEquals(
        List.of("wrong_type: column \"name\": text where int is declared"),
        strict.decode(envelope(ID, NAME), event("u", row(1, null), row(2, "x"))));
  }

  @Test
  void whatIsNoChangeEventIsUndecodable() {
    List<String> told = List.of("undecodable: no \"op\": not a change event of Debezium");

    assertEquals(told, pair.decode("\"string\"", "\"x\""));
    assertEquals(
        told,
        pair.decode(
            "{\"type\":\"record\",\"name\":\"Heartbeat\",\"fields\":["
                + "{\"name\":\"ts_ms\",\"type\":\"long\"}]}",
            "{\"ts_ms\":1}"));
  }
}
