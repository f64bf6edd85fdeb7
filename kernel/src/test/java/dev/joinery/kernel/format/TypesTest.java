package dev.joinery.kernel.format;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.junit.jupiter.api.Test;

class TypesTest {
  /** Decodes one value of a type and returns how it is written, or why not. */
  private static String value(String type, String json, String more) {
    Recorder recorder = new Recorder("json", "id", "id int, v " + type, more);
    String told = recorder.decode(null, "{\"id\":1,\"v\":" + json + "}").get(0);
    String prefix = "upsert {\"id\":1,\"v\":";
    return told.startsWith(prefix) ? told.substring(prefix.length(), told.length() - 1) : told;
  }

  private static String value(String type, String json) {
    return value(type, json, "");
  }

  @Test
  void wholeNumbersAreExactAndInRange() {
    assertEquals("-9223372036854775808", value("bigint", "-9223372036854775808"));
    assertEquals("100", value("bigint", "1e2"));
    assertEquals("127", value("tinyint", "127"));
    assertEquals(
        "out_of_range: column \"v\": the number does not fit byte", value("tinyint", "128"));
    assertEquals(
        "out_of_range: column \"v\": the number does not fit int", value("int", "2147483648"));
    assertEquals(
        "out_of_range: column \"v\": the number does not fit long", value("bigint", "1e99"));
    assertEquals("0", value("bigint", "-0"));
  }

  @Test
  void realNumbersAreFinite() {
    assertEquals("0.1", value("double", "0.1"));
    assertEquals("-12.0", value("double", "-12"));
    assertEquals("1.7976931348623157e+308", value("double", "1.7976931348623157E308"));
    assertEquals("0.30000000000000004", value("double", "0.30000000000000004"));
    assertEquals("0.0", value("double", "-0.0"));
    assertEquals("1.5", value("float", "1.5"));
    assertEquals(
        "out_of_range: column \"v\": the number does not fit double", value("double", "1e400"));
    assertEquals(
        "out_of_range: column \"v\": the number does not fit float", value("float", "1e40"));
    assertEquals(
        "wrong_type: column \"v\": NaN where double is declared", value("double", "NaN"));
    assertEquals(
        "wrong_type: column \"v\": -Infinity where double is declared",
        value("double", "-Infinity"));
    assertEquals(
        "wrong_type: column \"v\": NaN where double is declared", value("double", "\"NaN\""));
    assertEquals(
        "wrong_type: column \"v\": text where double is declared", value("double", "\"1.5\""));
  }

  @Test
  void whatPostgresqlHasForNumbersThatAreNotFiniteIsNamed() {
    for (String type : List.of("float", "double", "decimal(3,2)", "decimal(38,2)")) {
      assertEquals(notFinite("NaN", type), value(type, "NaN"));
      assertEquals(notFinite("NaN", type), value(type, "\"NaN\""));
      assertEquals(notFinite("NaN", type), value(type, "\"NAN\""));
      assertEquals(notFinite("Infinity", type), value(type, "\"POSITIVE_INFINITY\""));
      assertEquals(notFinite("-Infinity", type), value(type, "\"-Infinity\""));
      assertEquals(notFinite("-Infinity", type), value(type, "\"NEGATIVE_INFINITY\""));
    }
  }

  @Test
  void whatPostgresqlHasForInfiniteTimesIsNamedHoweverDebeziumTellsIt() {
    for (String type : List.of("timestamp", "timestamp_ntz")) {
      for (String high : List.of("9223372036854775807", "9223372036825200000", "\"infinity\"")) {
        assertEquals(notFinite("Infinity", type), value(type, high));
      }
      for (String low : List.of("-9223372036854775808", "-9223372036832400000", "\"-infinity\"")) {
        assertEquals(notFinite("-Infinity", type), value(type, low));
      }
      String millis = ",\"timeUnit\":\"millis\"";
      assertEquals(notFinite("Infinity", type), value(type, "9223372036825200", millis));
      assertEquals(notFinite("-Infinity", type), value(type, "-9223372036832400000", millis));
    }
    for (String high : List.of("2146033979", "-2147472692", "\"infinity\"")) {
      assertEquals(notFinite("Infinity", "date"), value("date", high));
    }
    for (String low : List.of("-2147472691", "\"-infinity\"")) {
      assertEquals(notFinite("-Infinity", "date"), value("date", low));
    }
    assertEquals(
        "\"+294247-01-10T04:00:25.199999Z\"", value("timestamp", "9223372036825199999"));
  }

  private static String notFinite(String word, String type) {
    return "wrong_type: column \"v\": " + word + " where " + type + " is declared";
  }

  @Test
  void decimalsComeAsNumberOrTextAndLoseNothing() {
    assertEquals("12.50", value("decimal(12,2)", "12.5"));
    assertEquals("12.50", value("decimal(12,2)", "\"12.50\""));
    assertEquals("-0.05", value("decimal(12,2)", "-0.05"));
    assertEquals("12.50", value("decimal(12,2)", "12.5000"));
    assertEquals("1200.00", value("decimal(12,2)", "1.2e3"));
    assertEquals(
        "12345678901234567890123456789012345.678",
        value("decimal(38,3)", "\"12345678901234567890123456789012345.678\""));
    assertEquals(
        "wrong_type: column \"v\": more decimals than decimal(12,2) holds",
        value("decimal(12,2)", "12.505"));
    assertEquals(
        "out_of_range: column \"v\": the number does not fit decimal(3,2)",
        value("decimal(3,2)", "10"));
    assertEquals(
        "wrong_type: column \"v\": the text is not a number, decimal(3,2) is declared",
        value("decimal(3,2)", "\"ten\""));
  }

  @Test
  void timestampsComeAsIsoTextOrNumber() {
    String instant = "\"2026-01-02T03:04:05.123456Z\"";
    assertEquals(instant, value("timestamp", instant));
    assertEquals(instant, value("timestamp", "\"2026-01-02 03:04:05.123456789\""));
    assertEquals(instant, value("timestamp", "\"2026-01-02T05:04:05.123456+02:00\""));
    assertEquals(instant, value("timestamp", "\"2026-01-01T22:04:05.123456-0500\""));
    assertEquals(instant, value("timestamp", "1767323045123456"));
    assertEquals(
        "\"2026-01-02T03:04:05.123000Z\"",
        value("timestamp", "1767323045123", ",\"timeUnit\":\"millis\""));
    assertEquals(
        instant, value("timestamp", "1767323045123456789", ",\"timeUnit\":\"nanos\""));
    assertEquals("\"1969-12-31T23:59:59.999999Z\"", value("timestamp", "-1"));
    assertEquals("\"0001-01-01T00:00:00Z\"", value("timestamp", "\"0001-01-01T00:00:00Z\""));
    assertEquals("\"2024-02-29T00:00:00Z\"", value("timestamp", "\"2024-02-29T00:00Z\""));
    assertEquals("\"2026-01-02T03:04:05\"", value("timestamp_ntz", "\"2026-01-02T03:04:05\""));
    assertEquals(
        "wrong_type: column \"v\": the text is not a date or a timestamp in ISO 8601",
        value("timestamp", "\"yesterday\""));
    assertEquals(
        "out_of_range: column \"v\": no such day", value("timestamp", "\"2023-02-29T00:00:00Z\""));
    assertEquals(
        "out_of_range: column \"v\": no such time of day",
        value("timestamp", "\"2023-02-28T25:00:00Z\""));
    assertEquals(
        "out_of_range: column \"v\": the number does not fit timestamp",
        value("timestamp", "9223372036854775807", ",\"timeUnit\":\"millis\""));
  }

  @Test
  void datesComeAsIsoTextOrDays() {
    assertEquals("\"2026-01-02\"", value("date", "\"2026-01-02\""));
    assertEquals("\"2026-01-02\"", value("date", "20455"));
    assertEquals("\"1969-12-31\"", value("date", "-1"));
    assertEquals("\"1600-02-29\"", value("date", "\"1600-02-29\""));
    assertEquals(
        "wrong_type: column \"v\": the text is not a date in ISO 8601",
        value("date", "\"2026-01-02T00:00:00Z\""));
    assertEquals("\"+5881580-07-11\"", value("date", "2147483647"));
    assertEquals("\"+5881580-07-11\"", value("date", "\"+5881580-07-11\""));
    assertEquals(
        "out_of_range: column \"v\": no such day", value("date", "\"+5881580-07-12\""));
  }

  @Test
  void textKeepsAllItsCharacters() {
    assertEquals(
        "\"\\\"\\\\/\\n\\u0001é😀\"",
        value("string", "\"\\\"\\\\\\/\\n\\u0001\\u00e9\\ud83d\\ude00\""));
    assertEquals("\"日本 😀\"", value("string", "\"日本 😀\""));
    assertEquals(
        "undecodable: column \"v\": half a surrogate pair is not a character",
        value("string", "\"\\ud83d\""));
  }

  @Test
  void otherAtomicTypesComeAsThemselves() {
    assertEquals("true", value("boolean", "true"));
    assertEquals("\"aGk=\"", value("binary", "\"aGk=\""));
    assertEquals(
        "wrong_type: column \"v\": the text is not base64, binary is declared",
        value("binary", "\"%\""));
    assertEquals(
        "wrong_type: column \"v\": a number where boolean is declared", value("boolean", "1"));
  }

  @Test
  void nestedValuesKeepTheirDeclaredFields() {
    assertEquals(
        "{\"a\":1,\"b\":[\"x\",null],\"c\":null}",
        value(
            "struct<a: int, b: array<string>, c: double>",
            "{\"z\":{},\"b\":[\"x\",null],\"a\":1}"));
    assertEquals("{\"x\":1,\"y\":null}", value("map<string,int>", "{\"x\":1,\"y\":null}"));
    assertEquals("{\"x\":2}", value("map<string,int>", "{\"x\":1,\"x\":2}"));
    assertEquals("{\"1\":\"a\"}", value("map<int,string>", "[[1,\"a\"]]"));
    assertEquals("{\"1\":\"a\"}", value("map<int,string>", "{\"1\":\"a\"}"));
    assertEquals(
        "[{\"a\":1},null,{\"a\":2}]",
        value("array<struct<a: int>>", "[{\"a\":1},null,{\"a\":2}]"));
    assertEquals(
        "wrong_type: column \"v[].a\": text where int is declared",
        value("array<struct<a: int>>", "[{\"a\":\"x\"}]"));
  }

  @Test
  void keysOfMapsAreReadFromNamesAsTheirTypeIsWritten() {
    assertEquals("{\"true\":1,\"false\":2}", value("map<boolean,int>", "{\"true\":1,\"false\":2}"));
    assertEquals("{\"2026-01-02\":1}", value("map<date,int>", "{\"2026-01-02\":1}"));
    assertEquals("{\"1970-01-02\":1}", value("map<date,int>", "{\"1\":1}"));
    assertEquals(
        "{\"2026-01-02T03:04:05Z\":1}",
        value("map<timestamp,int>", "{\"2026-01-02T03:04:05Z\":1}"));
    assertEquals("{\"MTIz\":1}", value("map<binary,int>", "{\"MTIz\":1}"));
    assertEquals("{\"1.50\":1}", value("map<decimal(5,2),int>", "{\"1.5\":1}"));
    assertEquals("{\"1\":1}", value("map<int,int>", "{\"\\u0031\":1}"));
  }

  @Test
  void namesThatAreNoKeysOfAMapAreRefused() {
    String text = "wrong_type: column \"v[]\": text where ";
    assertEquals(text + "boolean is declared", value("map<boolean,int>", "{\"tomato\":1}"));
    assertEquals(text + "int is declared", value("map<int,int>", "{\"nope\":1}"));
    assertEquals(text + "int is declared", value("map<int,int>", "{\"null\":1}"));
    assertEquals(text + "int is declared", value("map<int,int>", "{\"01\":1}"));
    assertEquals(text + "double is declared", value("map<double,int>", "{\"1d\":1}"));
    assertEquals(text + "int is declared", value("map<int,int>", "{\"\":1}"));
  }

  @Test
  void aMapHasAKeyOnceHoweverItIsWritten() {
    String twice = "wrong_type: column \"v\": a map with a key twice";
    assertEquals(twice, value("map<int,int>", "{\"1\":1,\"1.0\":2}"));
    assertEquals(twice, value("map<int,int>", "[[1,1],[1e0,2]]"));
    assertEquals(twice, value("map<date,int>", "{\"2026-01-02\":1,\"2026-01-02Z\":2}"));
    assertEquals(twice, value("map<binary,int>", "{\"QUI=\":1,\"QUI\":2}"));
    assertEquals(twice, value("map<double,int>", "{\"0\":1,\"-0\":2}"));
    assertEquals("{\"1\":2}", value("map<int,int>", "{\"1\":1,\"1\":2}"));
  }

  @Test
  void rowsHaveTheBytesOfSparksOwnProjections() {
    String ddl =
        "id int, a bigint, b string, c decimal(10,2), d decimal(30,3), e array<smallint>,"
            + " f map<string,decimal(30,3)>, g struct<x: string, y: decimal(30,3), z: binary>,"
            + " h array<array<string>>, i boolean, j float, k array<decimal(30,3)>, l date,"
            + " m array<decimal(5,1)>, n array<boolean>";
    Recorder recorder = Recorder.flat("id", ddl);

    recorder.decode(
        null,
        "{\"id\":1,\"a\":null,\"b\":\"hello world\",\"c\":1.5,\"d\":null,\"e\":[1,null,3],"
            + "\"f\":{\"p\":1.5,\"q\":null},\"g\":{\"x\":\"\",\"y\":null,\"z\":\"aGk=\"},"
            + "\"h\":[[\"a\"],[],null],\"i\":true,\"j\":1.5,\"k\":[null,2.5],\"l\":3,"
            + "\"m\":[1.5,null],\"n\":[true,null]}");
    recorder.rows.addAll(List.copyOf(recorder.rows));
    byte[] ours = recorder.rows.get(0);
    UnsafeRow view = new UnsafeRow(recorder.type.length());
    view.pointTo(ours, ours.length);

    assertArrayEquals(
        UnsafeProjection.create(recorder.type).apply(Generic.copy(view, recorder.type)).getBytes(),
        ours);
  }

  @Test
  void earlierRecordsLeaveNoTraceInLaterRows() {
    Recorder recorder = Recorder.flat("id", "id int, a decimal(30,3), b string");
    String small = "{\"id\":1,\"a\":1.5,\"b\":\"x\"}";

    recorder.decode(null, small);
    byte[] first = recorder.rows.get(0);
    recorder.decode(null, "{\"id\":2,\"a\":99999999999999999999.5,\"b\":\"a long text here\"}");
    recorder.decode(null, small);

    assertArrayEquals(first, recorder.rows.get(0));
  }
}
