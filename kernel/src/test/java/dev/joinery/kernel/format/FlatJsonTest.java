package dev.joinery.kernel.format;

import static org.junit.jupiter.api.Assertions.assertEquals;

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
  void rowsOfColumnsNamedKeyAndValueAreRows() {
    Recorder named = Recorder.flat("key", "key int, value string");

    assertEquals(
        List.of("upsert {\"key\":1,\"value\":\"a\"}"),
        named.decode(null, "{\"key\":1,\"value\":\"a\"}"));
  }
}
