package dev.joinery.kernel.bytes;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;

class KeyCodecTest {
  private static final DataType DECIMAL = DataTypes.createDecimalType(38, 6);

  private static KeyCodec codec(DataType type, DataType as, boolean descending) {
    return new KeyCodec(List.of(new KeyCodec.Column(0, type, as, descending)));
  }

  private static Slice code(DataType type, Object value) {
    return code(type, type, false, value);
  }

  private static Slice code(DataType type, DataType as, boolean descending, Object value) {
    return Slice.of(
        codec(type, as, descending).encode(new GenericInternalRow(new Object[] {value})));
  }

  private static Object decoded(DataType type, Object value) {
    return codec(type, type, false).decode(code(type, value))[0];
  }

  /** Values must rise. */
  private static void assertCodesRise(DataType type, Object... values) {
    for (int i = 1; i < values.length; i++) {
      String pair = type + ": " + values[i - 1] + " before " + values[i];
      assertTrue(code(type, values[i - 1]).compareTo(code(type, values[i])) < 0, pair);
      assertTrue(
          code(type, type, true, values[i - 1]).compareTo(code(type, type, true, values[i])) > 0,
          pair + ", descending");
      if (values[i - 1] != null && codec(type, type, false).isNumber()) {
        assertTrue(number(type, values[i - 1]) < number(type, values[i]), pair + ", as numbers");
      }
    }
  }

  private static long number(DataType type, Object value) {
    long number = codec(type, type, false).number(new GenericInternalRow(new Object[] {value}));
    assertEquals(number, KeyCodec.numberOf(code(type, value)));
    return number;
  }

  private static UTF8String text(String value) {
    return UTF8String.fromString(value);
  }

  private static Decimal decimal(String value, int precision, int scale) {
    return Decimal.apply(new BigDecimal(value), precision, scale);
  }

  /** The codes are those of {@code test_key_code.py}, which reads them back. */
  @Test
  void whoReadsKeysInPythonKnowsTheCodes() {
    DataType narrow = DataTypes.createDecimalType(5, 2);

    assertEquals("0101", hex(DataTypes.BooleanType, true));
    assertEquals("017ffffffffffffff9", hex(DataTypes.LongType, -7L));
    assertEquals("018000000000000100", hex(DataTypes.IntegerType, 256));
    assertEquals("018000000000004e20", hex(DataTypes.DateType, 20_000));
    assertEquals("018000000000000001", hex(DataTypes.TimestampType, 1L));
    assertEquals("017fffffffffffffff", hex(DataTypes.TimestampNTZType, -1L));
    assertEquals("01bff8000000000000", hex(DataTypes.DoubleType, 1.5));
    assertEquals("014007ffffffffffff", hex(DataTypes.DoubleType, -1.5));
    assertEquals("01" + "80" + "00".repeat(14) + "04e2", hex(narrow, decimal("12.50", 5, 2)));
    assertEquals("01" + "7f" + "ff".repeat(14) + "fb1e", hex(narrow, decimal("-12.50", 5, 2)));
    assertEquals("016100ff62c3a90000", hex(DataTypes.StringType, text("a\0bé")));
    assertEquals("010100ff0000", hex(DataTypes.BinaryType, new byte[] {1, 0}));
    assertEquals("00", hex(DataTypes.StringType, null));
  }

  private static String hex(DataType type, Object value) {
    return HexFormat.of().formatHex(code(type, value).toBytes());
  }

  @Test
  void nullsComeFirstAscendingAndLastDescending() {
    assertCodesRise(DataTypes.LongType, null, Long.MIN_VALUE);
    assertCodesRise(DataTypes.StringType, null, text(""));
    assertCodesRise(DataTypes.BooleanType, null, false, true);
    assertCodesRise(DataTypes.DoubleType, null, Double.NEGATIVE_INFINITY);
    assertCodesRise(DECIMAL, null, decimal("-99999999999999999999999999999999", 38, 6));
  }

  @Test
  void wholeNumbersOfEveryWidthSortByValue() {
    assertCodesRise(DataTypes.ByteType, (byte) -128, (byte) -1, (byte) 0, (byte) 127);
    assertCodesRise(DataTypes.ShortType, Short.MIN_VALUE, (short) -1, (short) 0, Short.MAX_VALUE);
    assertCodesRise(DataTypes.IntegerType, Integer.MIN_VALUE, -256, -1, 0, 255, Integer.MAX_VALUE);
    assertCodesRise(DataTypes.LongType, Long.MIN_VALUE, -1L, 0L, 1L, 256L, Long.MAX_VALUE);
    assertCodesRise(DataTypes.DateType, -1, 0, 20_000);
    assertCodesRise(DataTypes.TimestampType, -1L, 0L, 1_700_000_000_000_000L);
    assertCodesRise(DataTypes.TimestampNTZType, -1L, 0L, 1_700_000_000_000_000L);
  }

  @Test
  void numbersThatAreEqualHaveOneCodeWhateverTheirWidth() {
    Slice code = code(DataTypes.LongType, -7L);

    assertEquals(code, code(DataTypes.IntegerType, DataTypes.LongType, false, -7));
    assertEquals(code, code(DataTypes.IntegerType, -7));
    assertEquals(code, code(DataTypes.ShortType, (short) -7));
    assertEquals(code, code(DataTypes.ByteType, (byte) -7));
  }

  @Test
  void decimalsOfSeveralScalesAreWidenedToOneCode() {
    Slice code = code(DECIMAL, decimal("12.500000", 38, 6));

    DataType narrow = DataTypes.createDecimalType(5, 2);
    assertEquals(code, code(narrow, DECIMAL, false, decimal("12.50", 5, 2)));
    assertEquals(
        code(DECIMAL, decimal("12", 38, 6)), code(DataTypes.IntegerType, DECIMAL, false, 12));
    assertEquals(
        code(DECIMAL, decimal("-12", 38, 6)), code(DataTypes.LongType, DECIMAL, false, -12L));
  }

  @Test
  void wholeNumbersAreWidenedToTheCodeOfARealNumber() {
    Slice code = code(DataTypes.DoubleType, -12.0);

    assertEquals(code, code(DataTypes.IntegerType, DataTypes.DoubleType, false, -12));
    assertEquals(code, code(DataTypes.ShortType, DataTypes.DoubleType, false, (short) -12));
    assertEquals(code, code(DataTypes.FloatType, DataTypes.DoubleType, false, -12.0f));
    assertEquals(code, code(DataTypes.ByteType, DataTypes.FloatType, false, (byte) -12));
  }

  @Test
  void decimalsSortByValueUpToTheirLastDigit() {
    assertCodesRise(
        DECIMAL,
        decimal("-99999999999999999999999999999999.999999", 38, 6),
        decimal("-1.000001", 38, 6),
        decimal("-1", 38, 6),
        decimal("-0.000001", 38, 6),
        decimal("0", 38, 6),
        decimal("0.000001", 38, 6),
        decimal("0.000255", 38, 6),
        decimal("0.000256", 38, 6),
        decimal("99999999999999999999999999999999.999999", 38, 6));
  }

  @Test
  void realNumbersSortByValueAndNanIsTheGreatest() {
    assertCodesRise(
        DataTypes.DoubleType,
        Double.NEGATIVE_INFINITY,
        -Double.MAX_VALUE,
        -1.0,
        -Double.MIN_VALUE,
        0.0,
        Double.MIN_VALUE,
        1.0,
        Double.MAX_VALUE,
        Double.POSITIVE_INFINITY,
        Double.NaN);
    assertCodesRise(DataTypes.FloatType, -1f, -0.5f, 0f, 0.5f, Float.POSITIVE_INFINITY, Float.NaN);
  }

  @Test
  void bothZeroesAreOneAndSoIsEveryNan() {
    assertEquals(code(DataTypes.DoubleType, 0.0), code(DataTypes.DoubleType, -0.0));
    assertEquals(code(DataTypes.FloatType, 0f), code(DataTypes.FloatType, -0f));
    double otherNan = Double.longBitsToDouble(0xfff8000000000001L);
    assertEquals(code(DataTypes.DoubleType, Double.NaN), code(DataTypes.DoubleType, otherNan));
  }

  @Test
  void textSortsByItsUtf8BytesAlsoWhereItHoldsZeroBytes() {
    assertCodesRise(
        DataTypes.StringType,
        text(""),
        text("\0"),
        text("\0\0"),
        text("\0a"),
        text("a"),
        text("a\0"),
        text("a\0b"),
        text("aa"),
        text("b"),
        text("é"),
        text("日"),
        text("\uffff"),
        text("😀"));
    assertCodesRise(
        DataTypes.BinaryType,
        new byte[0],
        new byte[] {0},
        new byte[] {0, (byte) 0xFF},
        new byte[] {1},
        new byte[] {(byte) 0x80},
        new byte[] {(byte) 0xFF});
  }

  @Test
  void compositeKeysSortColumnByColumn() {
    KeyCodec codec =
        new KeyCodec(
            List.of(
                new KeyCodec.Column(0, DataTypes.StringType, DataTypes.StringType, false),
                new KeyCodec.Column(1, DataTypes.LongType, DataTypes.LongType, true)));
    Object[][] rising = {
      {null, 1L}, {text(""), 9L}, {text("a"), 2L}, {text("a"), 1L}, {text("a"), null},
      {text("a\0"), 5L}, {text("ab"), 0L}
    };

    for (int i = 1; i < rising.length; i++) {
      Slice lower = Slice.of(codec.encode(new GenericInternalRow(rising[i - 1])));
      Slice higher = Slice.of(codec.encode(new GenericInternalRow(rising[i])));
      assertTrue(lower.compareTo(higher) < 0, Arrays.toString(rising[i]));
    }
  }

  @Test
  void textThatWouldRunIntoTheNextColumnDoesNot() {
    KeyCodec codec = KeyCodec.of(new DataType[] {DataTypes.StringType, DataTypes.StringType});

    byte[] one = codec.encode(new GenericInternalRow(new Object[] {text("a\0"), text("b")}));
    byte[] other = codec.encode(new GenericInternalRow(new Object[] {text("a"), text("\0b")}));

    assertNotEquals(Slice.of(one), Slice.of(other));
  }

  @Test
  void decodingGivesBackWhatWasEncoded() {
    assertEquals(true, decoded(DataTypes.BooleanType, true));
    assertEquals((byte) -3, decoded(DataTypes.ByteType, (byte) -3));
    assertEquals((short) -3, decoded(DataTypes.ShortType, (short) -3));
    assertEquals(-3, decoded(DataTypes.IntegerType, -3));
    assertEquals(-3, decoded(DataTypes.DateType, -3));
    assertEquals(Long.MIN_VALUE, decoded(DataTypes.LongType, Long.MIN_VALUE));
    assertEquals(-3L, decoded(DataTypes.TimestampType, -3L));
    assertEquals(-0.25, decoded(DataTypes.DoubleType, -0.25));
    assertEquals(Double.NaN, decoded(DataTypes.DoubleType, Double.NaN));
    assertEquals(-0.25f, decoded(DataTypes.FloatType, -0.25f));
    assertEquals(text("a\0é😀\0"), decoded(DataTypes.StringType, text("a\0é😀\0")));
    byte[] bytes = {0, 0, (byte) 0xFF, 1};
    assertArrayEquals(bytes, (byte[]) decoded(DataTypes.BinaryType, bytes));
    Decimal decimal = decimal("-123456789012345678901234567890.123456", 38, 6);
    assertEquals(decimal, decoded(DECIMAL, decimal));
    assertNull(decoded(DataTypes.StringType, null));
  }

  @Test
  void decodingDoesNotAlterTheKey() {
    Slice key = code(DECIMAL, decimal("1", 38, 6));
    byte[] copy = key.toBytes().clone();

    codec(DECIMAL, DECIMAL, false).decode(key);

    assertArrayEquals(copy, key.toBytes());
  }

  @Test
  void randomLongsAndDecimalsSortAsTheyCompare() {
    Random random = new Random(1);
    for (int i = 0; i < 5_000; i++) {
      long one = random.nextLong() >> random.nextInt(64);
      long other = random.nextLong() >> random.nextInt(64);
      int expected = Long.compare(one, other);
      int codes = code(DataTypes.LongType, one).compareTo(code(DataTypes.LongType, other));
      assertEquals(expected, Integer.signum(codes), one + " and " + other);
      Decimal first = Decimal.apply(BigDecimal.valueOf(one, 6), 38, 6);
      Decimal second = Decimal.apply(BigDecimal.valueOf(other, 6), 38, 6);
      codes = code(DECIMAL, first).compareTo(code(DECIMAL, second));
      assertEquals(expected, Integer.signum(codes), first + " and " + second);
    }
  }

  @Test
  void aKeyWithANullColumnIsNoJoinValue() {
    KeyCodec codec = KeyCodec.of(new DataType[] {DataTypes.LongType, DataTypes.LongType});

    assertTrue(codec.anyNull(new GenericInternalRow(new Object[] {1L, null})));
    assertEquals(false, codec.anyNull(new GenericInternalRow(new Object[] {1L, 0L})));
  }

  @Test
  void utf8TextOrderIsByteOrderNotCharacterOrder() {
    byte[] low = "\uffff".getBytes(StandardCharsets.UTF_8);
    byte[] high = "😀".getBytes(StandardCharsets.UTF_8);

    assertTrue(Arrays.compareUnsigned(low, high) < 0);
    assertTrue("\uffff".compareTo("😀") > 0);
    assertCodesRise(DataTypes.StringType, text("\uffff"), text("😀"));
  }
}
