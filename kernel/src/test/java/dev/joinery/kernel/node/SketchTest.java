package dev.joinery.kernel.node;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.joinery.kernel.bytes.Slice;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;

/** The bytes and numbers here are those that sketch.py gives. */
class SketchTest {
  private static Distinct distinct(int precision, int count) {
    Distinct made = new Distinct(precision);
    for (long i = 0; i < count; i++) {
      made.add(ValueHash.of(i));
    }
    return made;
  }

  private static String hex(byte[] bytes) {
    return HexFormat.of().formatHex(bytes);
  }

  @Test
  void valuesHaveTheHashesThatTheReferenceGives() {
    assertEquals(2065146811275570100L, ValueHash.of(UTF8String.fromString("é")));
    assertEquals("13194218611613725804", Long.toUnsignedString(ValueHash.of(-0.0)));
    Decimal money = Decimal.apply(new BigDecimal("-1.28"), 12, 2);
    assertEquals("10548332412077393493", Long.toUnsignedString(ValueHash.of(money)));
    assertEquals("11445071438006506034", Long.toUnsignedString(ValueHash.of(true)));
  }

  @Test
  void distinctValuesAreCountedAsTheReferenceDoes() {
    assertEquals("01040100000000000000000001000200040000", hex(distinct(4, 3).toBytes()));
    assertEquals(3, distinct(4, 3).count());
    assertEquals("0104010608080c090807060708060505090606", hex(distinct(4, 1000).toBytes()));
    assertEquals(1049, distinct(4, 1000).count());
    assertEquals(100435, distinct(14, 100_000).count());
    assertEquals(2048, distinct(14, 2048).count());
  }

  @Test
  void partsOfDistinctValuesMakeTheWholeInAnyOrder() {
    List<Distinct> parts = new ArrayList<>();
    for (int i = 0; i < 5; i++) {
      parts.add(new Distinct(10));
    }
    for (long i = 0; i < 4000; i++) {
      parts.get((int) (i * i % 5)).add(ValueHash.of(i));
    }
    Collections.shuffle(parts, new Random(1));
    Distinct merged = new Distinct(10);

    parts.forEach(each -> merged.merge(Distinct.read(Slice.of(each.toBytes()))));

    assertArrayEquals(distinct(10, 4000).toBytes(), merged.toBytes());
  }

  @Test
  void numbersAreInTheBucketsOfTheReference() {
    Quantiles made = new Quantiles(50);
    double[] numbers = {
      0.0, 1.0, -2.5, 1e-310, Double.POSITIVE_INFINITY, Double.NaN, 123456.789
    };
    for (double each : numbers) {
      made.add(each, 1);
    }

    assertEquals("023202000202017c0203c9a40602caa40602980d02", hex(made.toBytes()));
    assertEquals(
        List.of(-2.49984, 0.0, 1.00990099009901, 123859.5724867725, Double.NaN),
        Arrays.stream(new double[] {0, 0.2, 0.5, 0.7, 1}).mapToObj(made::at).toList());
  }

  @Test
  void numbersThatAreTakenBackLeaveNoTrace() {
    Random random = new Random(2);
    Quantiles made = new Quantiles(50);
    Quantiles rest = new Quantiles(50);
    for (int i = 0; i < 2000; i++) {
      double number = random.nextGaussian() * Math.exp(random.nextInt(40));
      made.add(number, 1);
      if (i % 2 == 0) {
        rest.add(number, 1);
      } else {
        made.add(number, -1);
      }
    }

    assertArrayEquals(rest.toBytes(), made.toBytes());
  }

  @Test
  void everyQuantileOfAThousandGroupsIsWithinItsError() {
    Random random = new Random(3);
    for (int group = 0; group < 1000; group++) {
      double[] numbers = new double[1 + random.nextInt(300)];
      Quantiles made = new Quantiles(50);
      for (int i = 0; i < numbers.length; i++) {
        numbers[i] = random.nextGaussian() * Math.exp(random.nextInt(30));
        made.add(numbers[i], 1);
      }
      Arrays.sort(numbers);
      for (double part : new double[] {0, 0.01, 0.25, 0.5, 0.9, 0.99, 1}) {
        double exact = numbers[Math.max(1, (int) Math.ceil(part * numbers.length)) - 1];
        assertTrue(Math.abs(made.at(part) - exact) <= 0.01 * Math.abs(exact), "group " + group);
      }
    }
  }

  @Test
  void theBucketsOfAMillionNumbersAreSmall() {
    Random random = new Random(4);
    Quantiles made = new Quantiles(50);
    for (int i = 0; i < 1_000_000; i++) {
      made.add(Math.exp(random.nextDouble() * Math.log(86_400e6)), 1);
    }

    assertTrue(made.toBytes().length <= 16 * 1024);
  }

  @Test
  void whatIsNoSketchIsToldApart() {
    for (String each : List.of("", "01", "010e00616263", "020600", "03", "023202000202017c020301")) {
      Slice bytes = Slice.of(HexFormat.of().parseHex(each));
      assertNull(Distinct.read(bytes));
      assertNull(Quantiles.read(bytes));
    }
  }
}
