package dev.joinery.kernel.node;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;
import java.math.BigInteger;
import java.util.Random;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

final class WholeNumberTest {
  @Test
  void its_bytes_are_those_of_a_big_number() {
    Random random = new Random(3);
    LongStream drawn = LongStream.range(0, 2_000).map(i -> random.nextLong() >> i % 64);
    LongStream ends = LongStream.of(0, 1, -1, 127, 128, -128, -129, 255, 256, 1L << 55, -1L << 55,
        (1L << 55) - 1, Long.MAX_VALUE, Long.MIN_VALUE);

    LongStream.concat(ends, drawn).forEach(WholeNumberTest::check);
  }

  private static void check(long number) {
    ByteWriter out = new ByteWriter();
    WholeNumber.write(number, out);
    Slice written = new ByteReader(out.toBytes()).readBlob();

    assertArrayEquals(BigInteger.valueOf(number).toByteArray(), written.toBytes());
    assertEquals(number, WholeNumber.read(written));
  }
}
