package dev.joinery.kernel.format;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class FlatJsonTest {
  private final Recorder pair = Recorder.flat("id", "id bigint, name string");

  @Test
  void rowIsAnUpsertAndWhatItLeavesOutIsAbsent() {
    assertEquals(
        List.of("upsert {\"id\":1,\"name\":null} absent {1}"), pair.decode(null, "{\"id\":1}"));
    assertEquals(
        List.of("upsert {\"id\":1,\"name\":null}"),
        pair.decode(null, "{\"id\":1,\"name\":null}"));
  }

  @Test
  void deletedRowIsADeleteOfItsKey() {
    assertEquals(
        List.of("delete @9 {\"id\":1,\"name\":null}"),
        pair.decode(null, "{\"id\":1,\"name\":\"a\",\"__deleted\":true,\"__position\":9}"));
    assertEquals(
        List.of("delete {\"id\":1,\"name\":null}"),
        pair.decode(null, "{\"id\":1,\"__deleted\":\"true\"}"));
    assertEquals(
        List.of("upsert {\"id\":1,\"name\":\"a\"}"),
        pair.decode(null, "{\"id\":1,\"name\":\"a\",\"__deleted\":false}"));
  }

  @Test
  void nullValueUnderAKeyIsATombstone() {
    assertEquals(
        List.of("tombstone {\"id\":1,\"name\":null}"), pair.decode("{\"id\":1}", (String) null));
  }

  @Test
  void keyColumnLeftOutComesFromTheMessageKey() {
    assertEquals(
        List.of("upsert {\"id\":4,\"name\":\"a\"}"),
        pair.decode("{\"id\":4}", "{\"name\":\"a\"}"));
  }

  @Test
  void rowWithoutItsKeyIsADeadLetter() {
    assertEquals(
        List.of("key_missing: key column \"id\" is missing"),
        pair.decode(null, "{\"name\":\"a\"}"));
    assertEquals(
        List.of("key_missing: key column \"id\" is null"),
        pair.decode("{\"id\":4}", "{\"id\":null}"));
  }

  @Test
  void positionMayBeADeclaredColumn() {
    Recorder own = new Recorder("json", "id", "id int, v bigint", ",\"position\":\"v\"");

    assertEquals(
        List.of("upsert @12 {\"id\":1,\"v\":12}"), own.decode(null, "{\"id\":1,\"v\":12}"));
  }

  @Test
  void positionInTextOrAsATimestampIsUnderstood() {
    Recorder own = new Recorder("json", "id", "id int", ",\"position\":\"v\"");

    assertEquals(
        List.of("upsert @12 {\"id\":1}"), own.decode(null, "{\"id\":1,\"v\":\"12\"}"));
    assertEquals(
        List.of("upsert @1000000 {\"id\":1}"),
        own.decode(null, "{\"id\":1,\"v\":\"1970-01-01T00:00:01Z\"}"));
  }

  @Test
  void aPositionBeyondWhatCountsIsOutOfRange() {
    assertEquals(
        List.of("out_of_range: column \"__position\": the text does not fit a position"),
        pair.decode(null, "{\"id\":1,\"__position\":\"+999999-01-01\"}"));
  }

  @Test
  void aKeyIsReadByItsOwnSchema() {
    Recorder own = Recorder.flat("id", "id timestamp, v int");
    String millis =
        "{\"schema\":{\"type\":\"struct\",\"fields\":[{\"field\":\"id\",\"type\":\"int64\","
            + "\"name\":\"io.debezium.time.Timestamp\"}]},\"payload\":{\"id\":1000}}";

    assertEquals(
        List.of("upsert {\"id\":\"1970-01-01T00:00:01Z\",\"v\":1}"),
        own.decode(millis, "{\"v\":1}"));
    assertEquals(
        List.of("upsert {\"id\":\"1970-01-01T00:00:01Z\",\"v\":2}"),
        own.decode("{\"id\":1000000}", "{\"v\":2}"));
  }

  @Test
  void rowsOfColumnsNamedKeyAndValueAreRows() {
    Recorder named = Recorder.flat("key", "key int, value string");

    assertEquals(
        List.of("upsert {\"key\":1,\"value\":\"a\"}"),
        named.decode(null, "{\"key\":1,\"value\":\"a\"}"));
  }

  private static final String EVENT =
      "{\"before\":null,\"after\":{\"id\":1,\"name\":\"a\"},\"op\":\"c\",\"source\":{\"lsn\":1}}";

  @Test
  void eventOfDebeziumIsNoRow() {
    List<String> refused =
        List.of("wrong_format: this is a change event of Debezium; write format: debezium-json");

    assertEquals(refused, pair.decode("{\"id\":1}", EVENT));
    assertEquals(
        refused, pair.decode("{\"id\":1}", "{\"schema\":null,\"payload\":" + EVENT + "}"));
  }

  @Test
  void rowWithColumnsOfThoseNamesIsARow() {
    Recorder named = Recorder.flat("id", "id bigint, op string");

    assertEquals(
        List.of("upsert {\"id\":4,\"op\":\"c\"}"), named.decode("{\"id\":4}", EVENT));
  }

  @Test
  void theTimeOfTheLogIsNoColumnOfTheRecord() {
    Recorder timed =
        new Recorder("json", "id", "id bigint, log_time timestamp", ",\"logged\":\"log_time\"");

    timed.format.loggedAt(1_000_000);
    assertEquals(
        List.of("upsert {\"id\":1,\"log_time\":\"1970-01-01T00:00:01Z\"}"),
        timed.decode(null, "{\"id\":1,\"log_time\":\"none\"}"));
    timed.format.loggedAt(Long.MIN_VALUE);
    assertEquals(
        List.of("upsert {\"id\":1,\"log_time\":null} absent {1}"),
        timed.decode(null, "{\"id\":1,\"log_time\":7}"));

    List<String> told = new ArrayList<>();
    timed.format.columnsSeen().tell((counter, count) -> told.add(counter + " " + count));
    assertEquals(List.of("rows 2"), told);
  }

  @Test
  void columnsThatNoRowHadAreTold() {
    Recorder three = Recorder.flat("id", "id bigint, name string, city string");
    three.decode(null, "{\"id\":1,\"nmae\":\"a\",\"__op\":\"c\"}");
    three.decode(null, "{\"id\":2,\"city\":\"b\"}");

    List<String> told = new ArrayList<>();
    three.format.columnsSeen().tell((counter, count) -> told.add(counter + " " + count));
    three.format.columnsSeen().tell((counter, count) -> told.add(counter + " " + count));

    assertEquals(List.of("rows 2", "unseen:name 2", "undeclared:nmae 1"), told);
  }
}
