package dev.joinery.kernel.format;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import org.apache.avro.Schema;
import org.apache.avro.SchemaBuilder;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericRecord;
import org.junit.jupiter.api.Test;

class AvroTypesTest {
  /** Decodes one value of a type and returns how it is written, or why not. */
  private static String value(String type, String schema, String data, String more) {
    AvroTopic topic = new AvroTopic("avro", "id", "id int, v " + type, more, 4);
    String record =
        "{\"type\":\"record\",\"name\":\"t\",\"fields\":[{\"name\":\"id\",\"type\":\"int\"},"
            + "{\"name\":\"v\",\"type\":" + schema + "}]}";
    String told = topic.decode(record, "{\"id\":1,\"v\":" + data + "}").get(0);
    String prefix = "upsert {\"id\":1,\"v\":";
    return told.startsWith(prefix) ? told.substring(prefix.length(), told.length() - 1) : told;
  }

  private static String value(String type, String schema, String data) {
    return value(type, schema, data, "");
  }

  private static String logical(String type, String logical) {
    return "{\"type\":\"" + type + "\",\"logicalType\":\"" + logical + "\"}";
  }

  private static String connect(String type, String name) {
    return "{\"type\":\"" + type + "\",\"connect.name\":\"" + name + "\"}";
  }

  private static String wrong(String what) {
    return "wrong_type: column \"v\": " + what;
  }

  @Test
  void numbersWidenAndStayExact() {
    assertEquals("-9223372036854775808", value("bigint", "\"long\"", "-9223372036854775808"));
    assertEquals("7", value("bigint", "\"int\"", "7"));
    assertEquals("7", value("tinyint", "\"long\"", "7"));
    assertEquals("7.0", value("double", "\"int\"", "7"));
    assertEquals("7.0", value("float", "\"int\"", "7"));
    assertEquals("1.5", value("double", "\"float\"", "1.5"));
    assertEquals("3", value("bigint", "\"double\"", "3.0"));
    assertEquals("7.00", value("decimal(12,2)", "\"long\"", "7"));
    assertEquals("0.10", value("decimal(12,2)", "\"double\"", "0.1"));
    assertEquals("0.0", value("double", "\"double\"", "-0.0"));
    assertEquals(
        "out_of_range: column \"v\": the number does not fit byte",
        value("tinyint", "\"long\"", "128"));
    assertEquals(
        "out_of_range: column \"v\": the number does not fit long",
        value("bigint", "\"double\"", "1e19"));
    assertEquals(
        "out_of_range: column \"v\": the number does not fit float",
        value("float", "\"double\"", "1e40"));
    assertEquals(wrong("a fraction does not fit long"), value("bigint", "\"double\"", "1.5"));
    assertEquals(
        wrong("more decimals than decimal(12,2) holds"),
        value("decimal(12,2)", "\"double\"", "0.125"));
  }

  @Test
  void whatIsNotFiniteIsRefused() {
    Schema schema =
        SchemaBuilder.record("t").fields().requiredInt("id").requiredDouble("v").endRecord();
    GenericRecord data = new GenericData.Record(schema);
    data.put("id", 1);
    data.put("v", Double.NaN);
    AvroTopic reals = new AvroTopic("avro", "id", "id int, v double");
    AvroTopic floats = new AvroTopic("avro", "id", "id int, v float");

    assertEquals(
        List.of(wrong("NaN where double is declared")),
        reals.recorder.decodeBytes(null, reals.message(schema, data)));
    data.put("v", Double.NEGATIVE_INFINITY);
    assertEquals(
        List.of(wrong("-Infinity where float is declared")),
        floats.recorder.decodeBytes(null, floats.message(schema, data)));
  }

  @Test
  void whatIsNoNumberIsRefused() {
    assertEquals(wrong("text where long is declared"), value("bigint", "\"string\"", "\"1\""));
    assertEquals(wrong("a boolean where long is declared"), value("bigint", "\"boolean\"", "true"));
    assertEquals(wrong("a number where string is declared"), value("string", "\"int\"", "1"));
    assertEquals(wrong("a number where boolean is declared"), value("boolean", "\"int\"", "1"));
    assertEquals(wrong("bytes where long is declared"), value("bigint", "\"bytes\"", "\"a\""));
  }

  @Test
  void timesMeanWhatTheirLogicalTypeSays() {
    String second = "\"2026-01-02T03:04:05.123000Z\"";
    assertEquals(
        second, value("timestamp", logical("long", "timestamp-millis"), "1767323045123"));
    assertEquals(
        second, value("timestamp", logical("long", "timestamp-micros"), "1767323045123000"));
    assertEquals(
        second, value("timestamp", logical("long", "timestamp-nanos"), "1767323045123000999"));
    assertEquals(
        "\"2026-01-02T03:04:05.123000\"",
        value("timestamp_ntz", logical("long", "local-timestamp-millis"), "1767323045123"));
    assertEquals("\"2026-01-02\"", value("date", logical("int", "date"), "20455"));
    assertEquals("\"2026-01-02\"", value("string", logical("int", "date"), "20455"));
    assertEquals(
        "\"01:02:03.000004\"", value("string", logical("long", "time-micros"), "3723000004"));
    assertEquals("\"01:02:03\"", value("string", logical("int", "time-millis"), "3723000"));
    assertEquals(
        wrong("a number where timestamp is declared"),
        value("timestamp", logical("int", "time-millis"), "3723000"));
    assertEquals(
        "1767323045123", value("bigint", logical("long", "timestamp-millis"), "1767323045123"));
  }

  @Test
  void timesMeanWhatDebeziumAndConnectNamedThem() {
    String second = "\"2026-01-02T03:04:05.123000Z\"";
    String time = "io.debezium.time.";
    assertEquals(
        second, value("timestamp", connect("long", time + "Timestamp"), "1767323045123"));
    assertEquals(
        second, value("timestamp", connect("long", time + "MicroTimestamp"), "1767323045123000"));
    assertEquals(
        second,
        value("timestamp", connect("long", time + "NanoTimestamp"), "1767323045123000999"));
    assertEquals("\"2026-01-02\"", value("date", connect("int", time + "Date"), "20455"));
    assertEquals("\"01:02:03\"", value("string", connect("int", time + "Time"), "3723000"));
    assertEquals(
        second,
        value(
            "timestamp",
            connect("string", time + "ZonedTimestamp"),
            "\"2026-01-02T04:04:05.123+01:00\""));
    assertEquals(
        "\"2026-01-02\"",
        value("date", connect("int", "org.apache.kafka.connect.data.Date"), "20455"));
  }

  @Test
  void aBareNumberIsCountedInTheRelationsUnit() {
    assertEquals("\"1970-01-01T00:00:01Z\"", value("timestamp", "\"long\"", "1000000"));
    assertEquals(
        "\"1970-01-01T00:00:01Z\"",
        value("timestamp", "\"long\"", "1000", ",\"timeUnit\":\"millis\""));
    assertEquals("\"1970-01-02\"", value("date", "\"int\"", "1"));
  }

  @Test
  void decimalsComeInBytesOrText() {
    String bytes =
        "{\"type\":\"bytes\",\"logicalType\":\"decimal\",\"precision\":12,\"scale\":2}";
    String fixed =
        "{\"type\":\"fixed\",\"name\":\"d\",\"size\":2,\"logicalType\":\"decimal\","
            + "\"precision\":4,\"scale\":2}";
    String variable =
        "{\"type\":\"record\",\"name\":\"VariableScaleDecimal\",\"connect.name\":"
            + "\"io.debezium.data.VariableScaleDecimal\",\"fields\":["
            + "{\"name\":\"scale\",\"type\":\"int\"},{\"name\":\"value\",\"type\":\"bytes\"}]}";
    assertEquals("12.50", value("decimal(12,2)", bytes, "\"\\u0004\\u00e2\""));
    assertEquals("-0.01", value("decimal(12,2)", bytes, "\"\\u00ff\""));
    assertEquals("\"12.50\"", value("string", bytes, "\"\\u0004\\u00e2\""));
    assertEquals("12.5", value("double", bytes, "\"\\u0004\\u00e2\""));
    assertEquals("12.50", value("decimal(12,2)", fixed, "\"\\u0004\\u00e2\""));
    assertEquals("12.50", value("decimal(12,2)", "\"string\"", "\"12.5\""));
    assertEquals(
        "-0.001", value("decimal(12,3)", variable, "{\"scale\":3,\"value\":\"\\u00ff\"}"));
    assertEquals(wrong("a number without digits"), value("decimal(12,2)", bytes, "\"\""));
  }

  @Test
  void textsAndBytes() {
    String uuid =
        "{\"type\":\"fixed\",\"name\":\"u\",\"size\":16,\"logicalType\":\"uuid\"}";
    String symbols = "{\"type\":\"enum\",\"name\":\"e\",\"symbols\":[\"OPEN\",\"DONE\"]}";
    assertEquals("\"DONE\"", value("string", symbols, "\"DONE\""));
    assertEquals("\"ab\"", value("string", "\"bytes\"", "\"ab\""));
    assertEquals("\"YWI=\"", value("binary", "\"bytes\"", "\"ab\""));
    assertEquals("\"YWI=\"", value("binary", "\"string\"", "\"YWI=\""));
    assertEquals(
        "\"41414141-4141-4141-4141-414141414141\"",
        value("string", uuid, "\"AAAAAAAAAAAAAAAA\""));
    assertEquals(
        "undecodable: column \"v\": a text that is not UTF-8",
        value("string", "\"bytes\"", "\"\\u00ff\""));
    assertEquals("\"x\"", value("string", "[\"null\",\"int\",\"string\"]", "{\"string\":\"x\"}"));
    assertEquals(
        wrong("a number where string is declared"),
        value("string", "[\"null\",\"int\",\"string\"]", "{\"int\":1}"));
  }

  @Test
  void mapsWithKeysThatAreNoTextsAreListsOfPairs() {
    String pairs =
        "{\"type\":\"array\",\"items\":{\"type\":\"record\",\"name\":\"MapEntry\",\"fields\":["
            + "{\"name\":\"key\",\"type\":\"int\"},{\"name\":\"value\",\"type\":\"string\"}]}}";
    assertEquals(
        "{\"1\":\"a\"}",
        value("map<int,string>", pairs, "[{\"key\":1,\"value\":\"a\"}]"));
    assertEquals(
        "[{\"key\":1,\"value\":\"a\"}]",
        value("array<struct<key: int, value: string>>", pairs, "[{\"key\":1,\"value\":\"a\"}]"));
    assertEquals(
        wrong("a map with a key twice"),
        value(
            "map<int,string>", pairs, "[{\"key\":1,\"value\":\"a\"},{\"key\":1,\"value\":\"b\"}]"));
  }

  @Test
  void aMapHasNoKeyThatIsNull() {
    String pairs =
        "{\"type\":\"array\",\"items\":{\"type\":\"record\",\"name\":\"MapEntry\",\"fields\":["
            + "{\"name\":\"key\",\"type\":[\"null\",\"int\"]},"
            + "{\"name\":\"value\",\"type\":\"string\"}]}}";
    assertEquals(
        wrong("a map with a key that is null"),
        value("map<int,string>", pairs, "[{\"key\":null,\"value\":\"a\"}]"));
  }

  @Test
  void whatStandsInsideIsNamed() {
    String list =
        "{\"type\":\"array\",\"items\":{\"type\":\"record\",\"name\":\"i\",\"fields\":["
            + "{\"name\":\"x\",\"type\":\"string\"}]}}";
    assertEquals(
        "wrong_type: column \"v[].x\": text where int is declared",
        value("array<struct<x: int>>", list, "[{\"x\":\"a\"}]"));
    assertEquals(
        wrong("a list where struct is declared"), value("struct<x: int>", list, "[]"));
    assertEquals(
        wrong("an object where map is declared"),
        value(
            "map<string,int>",
            "{\"type\":\"record\",\"name\":\"i\",\"fields\":[]}",
            "{}"));
  }
}
