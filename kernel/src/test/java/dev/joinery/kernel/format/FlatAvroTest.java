package dev.joinery.kernel.format;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericRecord;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.junit.jupiter.api.Test;

class FlatAvroTest {
  private static final String ID = "{\"name\":\"id\",\"type\":\"long\"}";
  private static final String NAME = "{\"name\":\"name\",\"type\":[\"null\",\"string\"]}";

  private final AvroTopic pair = new AvroTopic("avro", "id", "id bigint, name string");

  private static String record(String... fields) {
    return "{\"type\":\"record\",\"name\":\"t\",\"fields\":[" + String.join(",", fields) + "]}";
  }

  @Test
  void rowIsAnUpsertAndAColumnTheWriterLacksIsAbsent() {
    assertEquals(
        List.of("upsert {\"id\":1,\"name\":\"ä\"}"),
        pair.decode(record(ID, NAME), "{\"id\":1,\"name\":{\"string\":\"ä\"}}"));
    assertEquals(
        List.of("upsert {\"id\":1,\"name\":null}"),
        pair.decode(record(ID, NAME), "{\"id\":1,\"name\":null}"));
    assertEquals(
        List.of("upsert {\"id\":1,\"name\":null} absent {1}"),
        pair.decode(record(ID), "{\"id\":1}"));
  }

  @Test
  void columnsMayComeGoAndChangePlaces() {
    String more = "{\"name\":\"more\",\"type\":{\"type\":\"array\",\"items\":\"string\"}}";
    List<String> expected = List.of("upsert {\"id\":1,\"name\":\"a\"}");

    assertEquals(
        expected, pair.decode(record(ID, NAME), "{\"id\":1,\"name\":{\"string\":\"a\"}}"));
    assertEquals(
        expected,
        pair.decode(
            record(more, NAME, ID),
            "{\"more\":[\"x\",\"y\"],\"name\":{\"string\":\"a\"},\"id\":1}"));
    assertEquals(
        expected, pair.decode(record(ID, NAME), "{\"id\":1,\"name\":{\"string\":\"a\"}}"));
  }

  @Test
  void columnsMayBeWidenedWhileItRuns() {
    AvroTopic topic = new AvroTopic("avro", "id", "id bigint, v double");
    String narrow =
        record("{\"name\":\"id\",\"type\":\"int\"}", "{\"name\":\"v\",\"type\":\"float\"}");
    String wide = record(ID, "{\"name\":\"v\",\"type\":[\"null\",\"double\"]}");

    assertEquals(
        List.of("upsert {\"id\":1,\"v\":1.5}"), topic.decode(narrow, "{\"id\":1,\"v\":1.5}"));
    assertEquals(
        List.of("upsert {\"id\":9000000000,\"v\":0.1}"),
        topic.decode(wide, "{\"id\":9000000000,\"v\":{\"double\":0.1}}"));
  }

  @Test
  void numberThatOutgrowsTheDeclaredTypeIsADeadLetter() {
    AvroTopic topic = new AvroTopic("avro", "id", "id bigint, v int");
    String wide = record(ID, "{\"name\":\"v\",\"type\":\"long\"}");

    assertEquals(
        List.of("upsert {\"id\":1,\"v\":7}"), topic.decode(wide, "{\"id\":1,\"v\":7}"));
    assertEquals(
        List.of("out_of_range: column \"v\": the number does not fit int"),
        topic.decode(wide, "{\"id\":1,\"v\":2147483648}"));
  }

  @Test
  void deletedRowIsADeleteOfItsKey() {
    String text = record(ID, NAME, "{\"name\":\"__deleted\",\"type\":[\"null\",\"string\"]}");
    String flag = record(ID, "{\"name\":\"__deleted\",\"type\":\"boolean\"}");
    List<String> deleted = List.of("delete {\"id\":1,\"name\":null}");

    assertEquals(
        deleted,
        pair.decode(
            text, "{\"id\":1,\"name\":{\"string\":\"a\"},\"__deleted\":{\"string\":\"true\"}}"));
    assertEquals(deleted, pair.decode(flag, "{\"id\":1,\"__deleted\":true}"));
    assertEquals(
        List.of("upsert {\"id\":1,\"name\":\"a\"}"),
        pair.decode(text, "{\"id\":1,\"name\":{\"string\":\"a\"},\"__deleted\":null}"));
    assertEquals(
        List.of("wrong_type: column \"__deleted\": not a boolean"),
        pair.decode(text, "{\"id\":1,\"name\":null,\"__deleted\":{\"string\":\"yes\"}}"));
  }

  @Test
  void positionIsANumberOrAText() {
    String number = record(ID, NAME, "{\"name\":\"__position\",\"type\":[\"null\",\"long\"]}");
    String text = record(ID, NAME, "{\"name\":\"__position\",\"type\":\"string\"}");

    assertEquals(
        List.of("upsert @9 {\"id\":1,\"name\":null}"),
        pair.decode(number, "{\"id\":1,\"name\":null,\"__position\":{\"long\":9}}"));
    assertEquals(
        List.of("upsert {\"id\":1,\"name\":null}"),
        pair.decode(number, "{\"id\":1,\"name\":null,\"__position\":null}"));
    assertEquals(
        List.of("upsert @1000000 {\"id\":1,\"name\":null}"),
        pair.decode(text, "{\"id\":1,\"name\":null,\"__position\":\"1970-01-01T00:00:01Z\"}"));
  }

  @Test
  void nullValueUnderAKeyIsATombstone() {
    byte[] key = pair.message(record("{\"name\":\"id\",\"type\":\"int\"}"), "{\"id\":4}");
    List<String> expected = List.of("tombstone {\"id\":4,\"name\":null}");

    assertEquals(expected, pair.recorder.decodeBytes(key, null));
    assertEquals(expected, pair.recorder.decode("{\"id\":4}", (byte[]) null));
    assertEquals(
        List.of("count tombstones_without_key"),
        pair.recorder.decodeBytes(pair.message("\"long\"", "4"), null));
  }

  @Test
  void keyColumnLeftOutComesFromTheMessageKey() {
    byte[] key = pair.message(record(ID), "{\"id\":4}");
    byte[] value = pair.message(record(NAME), "{\"name\":{\"string\":\"a\"}}");

    assertEquals(
        List.of("upsert {\"id\":4,\"name\":\"a\"}"), pair.recorder.decodeBytes(key, value));
    assertEquals(
        List.of("key_missing: key column \"id\" is missing"),
        pair.recorder.decodeBytes(null, value));
  }

  @Test
  void whatIsNotInTheWireFormatIsUndecodable() {
    byte[] good = pair.message(record(ID, NAME), "{\"id\":1,\"name\":{\"string\":\"abc\"}}");

    assertEquals(
        List.of(
            "undecodable: no schema id in front: not Avro in a schema registry's wire format"),
        pair.recorder.decode(null, "{\"id\":1}"));
    assertEquals(
        List.of("undecodable: the Avro data ends too early"),
        pair.recorder.decodeBytes(null, Arrays.copyOf(good, good.length - 1)));
    assertEquals(
        List.of("undecodable: bytes are left after the Avro data"),
        pair.recorder.decodeBytes(null, Arrays.copyOf(good, good.length + 1)));
    assertEquals(
        List.of("undecodable: schema 99 is not in the schema registry"),
        pair.recorder.decodeBytes(null, new byte[] {0, 0, 0, 0, 99, 2}));
  }

  @Test
  void anyCutOrFlippedMessageIsToldAndNeverBreaksTheReader() {
    AvroTopic topic =
        new AvroTopic(
            "avro", "id", "id bigint, l array<string>, m map<string,int>, s struct<a: int>");
    String schema =
        record(
            ID,
            "{\"name\":\"l\",\"type\":{\"type\":\"array\",\"items\":[\"null\",\"string\"]}}",
            "{\"name\":\"m\",\"type\":{\"type\":\"map\",\"values\":\"int\"}}",
            "{\"name\":\"s\",\"type\":{\"type\":\"record\",\"name\":\"s\",\"fields\":["
                + "{\"name\":\"a\",\"type\":\"int\"}]}}");
    byte[] good =
        topic.message(
            schema,
            "{\"id\":1,\"l\":[null,{\"string\":\"x\"}],\"m\":{\"k\":1,\"n\":2},\"s\":{\"a\":5}}");
    int told = 0;
    for (int at = 5; at < good.length; at++) {
      for (int bit = 0; bit < 8; bit++) {
        byte[] flipped = good.clone();
        flipped[at] ^= (byte) (1 << bit);
        told += topic.recorder.decodeBytes(null, flipped).size();
      }
    }

    assertEquals(8 * (good.length - 5), told);
  }

  @Test
  void anIdOfEightBytesIsReadWhereTheRegistryWritesSuch() {
    AvroTopic apicurio = new AvroTopic("avro", "id", "id bigint, name string", "", 8);

    assertEquals(
        List.of("upsert {\"id\":1,\"name\":\"a\"}"),
        apicurio.decode(record(ID, NAME), "{\"id\":1,\"name\":{\"string\":\"a\"}}"));
  }

  @Test
  void aRecordThatHoldsItselfIsSteppedOverToABound() {
    String tree =
        record(
            ID,
            NAME,
            "{\"name\":\"t\",\"type\":{\"type\":\"record\",\"name\":\"n\",\"fields\":["
                + "{\"name\":\"next\",\"type\":[\"null\",\"n\"]}]}}");
    byte[] flat = pair.message(tree, "{\"id\":1,\"name\":null,\"t\":{\"next\":null}}");
    byte[] deep = Arrays.copyOf(flat, flat.length + 600);
    Arrays.fill(deep, flat.length - 1, deep.length - 1, (byte) 2);

    assertEquals(
        List.of("upsert {\"id\":1,\"name\":null}"),
        pair.decode(tree, "{\"id\":1,\"name\":null,\"t\":{\"next\":{\"n\":{\"next\":null}}}}"));
    assertEquals(
        List.of("undecodable: nested deeper than 512 levels"),
        pair.recorder.decodeBytes(null, deep));
  }

  @Test
  void sameValuesGiveTheBytesOfSparksOwnRows() {
    AvroTopic topic =
        new AvroTopic(
            "avro",
            "id",
            "id bigint, s struct<b: string, a: int, n: bigint>, l array<struct<x: string>>,"
                + " m map<string, array<int>>, d decimal(30,2), f array<float>, e array<date>");
    Schema schema =
        new Schema.Parser()
            .parse(
                record(
                    "{\"name\":\"m\",\"type\":{\"type\":\"map\",\"values\":"
                        + "{\"type\":\"array\",\"items\":\"int\"}}}",
                    "{\"name\":\"s\",\"type\":{\"type\":\"record\",\"name\":\"s\",\"fields\":["
                        + "{\"name\":\"a\",\"type\":\"int\"},"
                        + "{\"name\":\"b\",\"type\":\"string\"}]}}",
                    "{\"name\":\"l\",\"type\":{\"type\":\"array\",\"items\":{\"type\":\"record\","
                        + "\"name\":\"l\",\"fields\":[{\"name\":\"x\",\"type\":\"string\"}]}}}",
                    "{\"name\":\"d\",\"type\":{\"type\":\"bytes\",\"logicalType\":\"decimal\","
                        + "\"precision\":30,\"scale\":2}}",
                    "{\"name\":\"f\",\"type\":{\"type\":\"array\",\"items\":\"float\"}}",
                    "{\"name\":\"e\",\"type\":{\"type\":\"array\",\"items\":[\"null\","
                        + "{\"type\":\"int\",\"logicalType\":\"date\"}]}}",
                    ID));
    GenericRecord data = new GenericData.Record(schema);
    GenericRecord inner = new GenericData.Record(schema.getField("s").schema());
    inner.put("a", 5);
    inner.put("b", "inner text");
    GenericRecord item =
        new GenericData.Record(schema.getField("l").schema().getElementType());
    item.put("x", "an item");
    data.put("id", 1L);
    data.put("s", inner);
    data.put("l", List.of(item, item));
    data.put("m", Map.of("k", List.of(1, 2)));
    data.put("d", ByteBuffer.wrap(new BigInteger("12345678901234567890123").toByteArray()));
    data.put("f", List.of(1.5f, -0.0f));
    data.put("e", Arrays.asList(20455, null));

    List<String> told = topic.recorder.decodeBytes(null, topic.message(schema, data));

    assertEquals(
        List.of(
            "upsert {\"id\":1,\"s\":{\"b\":\"inner text\",\"a\":5,\"n\":null},"
                + "\"l\":[{\"x\":\"an item\"},{\"x\":\"an item\"}],\"m\":{\"k\":[1,2]},"
                + "\"d\":123456789012345678901.23,\"f\":[1.5,0.0],\"e\":[\"2026-01-02\",null]}"),
        told);
    byte[] bytes = topic.recorder.rows.get(0);
    UnsafeRow row = new UnsafeRow(topic.recorder.type.length());
    row.pointTo(bytes, bytes.length);
    UnsafeProjection projection = UnsafeProjection.create(topic.recorder.type);
    assertArrayEquals(
        projection.apply(Generic.copy(row, topic.recorder.type)).getBytes(), bytes);
  }
}
