package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.Hash;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.unsafe.types.UTF8String;

/** The hash of a value of a simple type: the twin of {@code hash_of} of sketch.py. */
final class ValueHash {
  private ValueHash() {}

  static long of(Object value) {
    byte[] bytes = encoded(value);
    return Hash.longOf(bytes, 0, bytes.length);
  }

  private static byte[] encoded(Object value) {
    if (value instanceof UTF8String text) {
      return text.getBytes();
    }
    if (value instanceof byte[] bytes) {
      return bytes;
    }
    if (value instanceof Decimal decimal) {
      return decimal.toJavaBigDecimal().unscaledValue().toByteArray();
    }
    if (value instanceof Double || value instanceof Float) {
      double number = ((Number) value).doubleValue();
      return word(Double.doubleToLongBits(number == 0 ? 0.0 : number));
    }
    return word(value instanceof Boolean flag ? flag ? 1 : 0 : ((Number) value).longValue());
  }

  private static byte[] word(long value) {
    return ByteBuffer.allocate(Long.BYTES).order(ByteOrder.LITTLE_ENDIAN).putLong(value).array();
  }
}
