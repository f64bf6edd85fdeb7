package dev.joinery.kernel.render;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.LocalDate;
import java.util.Random;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;

class JsonWriterTest {
  private static String write(String ddl, Object... values) {
    ByteSink out = new ByteSink(0);
    new JsonWriter(StructType.fromDDL(ddl)).write(new GenericInternalRow(values), out);
    return new String(out.toByteArray(), StandardCharsets.UTF_8);
  }

  private static String one(String type, Object value) {
    String text = write("v " + type, value);
    return text.substring("{\"v\":".length(), text.length() - 1);
  }

  private static UTF8String text(String value) {
    return UTF8String.fromString(value);
  }

  private static Decimal decimal(String value, int precision, int scale) {
    return Decimal.apply(new BigDecimal(value), precision, scale);
  }

  @Test
  void nullFieldsAreWritten() {
    assertEquals("{\"a\":null,\"b\":1}", write("a string, b int", null, 1));
    assertEquals("{\"s\":{}}", write("s struct<>", new GenericInternalRow(new Object[0])));
  }

  @Test
  void namesAndTextAreEscapedOnlyWhereJsonAsksForIt() {
    assertEquals("{\"a\\\"b\":\"x\"}", write("`a\"b` string", text("x")));
    assertEquals(
        "\"é日😀/\\\"\\\\\\n\\r\\t\\b\\f\\u0001\\u001f\u007f\"",
        one("string", text("é日😀/\"\\\n\r\t\b\f\u0001\u001f\u007f")));
    assertEquals(
        "\"12345678901234567890\\\"\"", one("string", text("12345678901234567890\"")));
  }

  @Test
  void wholeNumbersAreExact() {
    assertEquals("-9223372036854775808", one("bigint", Long.MIN_VALUE));
    assertEquals("9223372036854775807", one("bigint", Long.MAX_VALUE));
    assertEquals("0", one("int", 0));
    assertEquals("-1", one("smallint", (short) -1));
    assertEquals("100", one("tinyint", (byte) 100));
  }

  @Test
  void doublesAreTheShortestTextThatReadsBackTheSame() {
    assertEquals("1.0", one("double", 1.0));
    assertEquals("-0.0", one("double", -0.0));
    assertEquals("0.1", one("double", 0.1));
    assertEquals("100000.0", one("double", 1e5));
    assertEquals("1e+16", one("double", 1e16));
    assertEquals("1234567890123456.0", one("double", 1234567890123456.0));
    assertEquals("1e-05", one("double", 1e-5));
    assertEquals("0.0001", one("double", 1e-4));
    assertEquals("2e+23", one("double", 2e23));
    assertEquals("8.41e+21", one("double", 8.41e21));
    assertEquals("5e-324", one("double", Double.MIN_VALUE));
    assertEquals("1.7976931348623157e+308", one("double", Double.MAX_VALUE));
    assertEquals("7.120236347223045e-307", one("double", 0x1p-1017));
    assertEquals("3.0617315596860196e+25", one("double", 3.0617315596860196e+25));
    assertEquals("-1113178120592002.2", one("double", -1113178120592002.25));
    assertEquals("\"NaN\"", one("double", Double.NaN));
    assertEquals("\"-Infinity\"", one("double", Double.NEGATIVE_INFINITY));
  }

  @Test
  void singlesAreWrittenInTheirShortestFormToo() {
    assertEquals("0.1", one("float", 0.1f));
    assertEquals("-0.0", one("float", -0.0f));
    assertEquals("16777215.0", one("float", 16_777_215f));
    assertEquals("123456790000.0", one("float", 123_456_789_012f));
    assertEquals("1e+20", one("float", 1e20f));
    assertEquals("8.41e+21", one("float", 8.41e21f));
    assertEquals("5.684342e-14", one("float", 0x1p-44f));
    assertEquals("1.2621775e-29", one("float", 0x1p-96f));
    assertEquals("7.6492113e+25", one("float", 7.6492113e25f));
    assertEquals("2337301.2", one("float", 2337301.25f));
    assertEquals("1e-45", one("float", Float.MIN_VALUE));
    assertEquals("3.4028235e+38", one("float", Float.MAX_VALUE));
  }

  @Test
  void anySingleReadsBackTheSame() {
    Random random = new Random(20260102);
    for (int i = 0; i < 20_000; i++) {
      float value = Float.intBitsToFloat(random.nextInt());
      if (Float.isFinite(value)) {
        assertEquals(value, Float.parseFloat(one("float", value)));
      }
    }
  }

  @Test
  void anyDoubleReadsBackTheSame() {
    Random random = new Random(20260102);
    for (int i = 0; i < 20_000; i++) {
      double value = Double.longBitsToDouble(random.nextLong());
      if (Double.isFinite(value)) {
        assertEquals(value, Double.parseDouble(one("double", value)));
      }
    }
  }

  @Test
  void decimalsKeepTheirScale() {
    assertEquals("12.50", one("decimal(12,2)", decimal("12.5", 12, 2)));
    assertEquals("-0.05", one("decimal(12,2)", decimal("-0.05", 12, 2)));
    assertEquals("0.00", one("decimal(12,2)", decimal("0", 12, 2)));
    assertEquals("7", one("decimal(5,0)", decimal("7", 5, 0)));
    assertEquals(
        "-12345678901234567890.500",
        one("decimal(30,3)", decimal("-12345678901234567890.5", 30, 3)));
  }

  @Test
  void timestampsAreIsoInUtc() {
    assertEquals("\"2026-01-02T03:04:05Z\"", one("timestamp", 1767323045_000000L));
    assertEquals("\"2026-01-02T03:04:05.000100Z\"", one("timestamp", 1767323045_000100L));
    assertEquals("\"2026-01-02T03:04:05\"", one("timestamp_ntz", 1767323045_000000L));
    assertEquals("\"1969-12-31T23:59:59.999999Z\"", one("timestamp", -1L));
    assertEquals("\"-0001-12-31\"", one("date", (int) LocalDate.of(-1, 12, 31).toEpochDay()));
    assertEquals("\"+10000-01-01\"", one("date", (int) LocalDate.of(10000, 1, 1).toEpochDay()));
  }

  @Test
  void anyInstantIsWrittenAsJavaWritesIt() {
    Random random = new Random(20260102);
    for (int i = 0; i < 20_000; i++) {
      long seconds = random.nextLong(-62_167_219_200L, 253_402_300_800L);
      String expected = '"' + Instant.ofEpochSecond(seconds).toString() + '"';
      assertEquals(expected, one("timestamp", seconds * 1_000_000));
    }
  }

  @Test
  void nestedValuesAreNested() {
    GenericArrayData list = new GenericArrayData(new Object[] {1, null, 3});
    ArrayBasedMapData map =
        new ArrayBasedMapData(
            new GenericArrayData(new Object[] {2, 1}),
            new GenericArrayData(new Object[] {text("b"), null}));
    GenericInternalRow inner = new GenericInternalRow(new Object[] {list, map, new byte[] {104}});

    assertEquals(
        "{\"s\":{\"l\":[1,null,3],\"m\":{\"2\":\"b\",\"1\":null},\"b\":\"aA==\"}}",
        write("s struct<l: array<int>, m: map<int,string>, b: binary>", inner));
  }

  @Test
  void unsafeRowsAreWrittenAsOthers() {
    StructType type = StructType.fromDDL("a decimal(30,3), b struct<x: string>, c boolean");
    GenericInternalRow row =
        new GenericInternalRow(
            new Object[] {
              decimal("1.5", 30, 3), new GenericInternalRow(new Object[] {text("é")}), true
            });
    ByteSink out = new ByteSink(0);

    new JsonWriter(type).write(UnsafeProjection.create(type).apply(row), out);

    assertEquals(
        "{\"a\":1.500,\"b\":{\"x\":\"é\"},\"c\":true}",
        new String(out.toByteArray(), StandardCharsets.UTF_8));
  }
}
