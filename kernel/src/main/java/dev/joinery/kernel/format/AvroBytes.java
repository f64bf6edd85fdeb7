package dev.joinery.kernel.format;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.UUID;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StringType;

/** The readers of Avro's bytes: raw, or a number, or an identifier. */
final class AvroBytes {
  private static final int MAX_SCALE = 10_000;
  private static final int UUID_BYTES = 16;

  private AvroBytes() {}

  /** Steps over a value's bytes and tells where they begin. */
  interface Begin {
    int of(AvroCursor in);
  }

  static AvroReader of(DataType type, Begin begin) {
    if (type.equals(DataTypes.BinaryType)) {
      return (in, out, ordinal) -> {
        int from = begin.of(in);
        out.write(ordinal, in.bytes, from, in.at - from);
      };
    } else if (type instanceof StringType) {
      return (in, out, ordinal) -> {
        int from = begin.of(in);
        AvroTexts.requireUtf8(in.bytes, from, in.at);
        out.write(ordinal, in.bytes, from, in.at - from);
      };
    }
    return AvroReaders.wrong("bytes", type);
  }

  static AvroReader decimal(Decimals.Target target, int scale, Begin begin) {
    return (in, out, ordinal) -> {
      int from = begin.of(in);
      target.write(number(in, from, scale), out, ordinal);
    };
  }

  private static BigDecimal number(AvroCursor in, int from, int scale) {
    if (in.at == from) {
      throw Rejected.wrongType("a number without digits");
    }
    return new BigDecimal(new BigInteger(in.bytes, from, in.at - from), scale);
  }

  /** Debezium's VariableScaleDecimal: a record of a scale and of the digits' bytes. */
  static AvroReader variableDecimal(Decimals.Target target) {
    return (in, out, ordinal) -> {
      long scale = in.readLong();
      int from = in.skip(in.readLength());
      if (Math.abs(scale) > MAX_SCALE) {
        throw Rejected.wrongType("not a decimal of variable scale");
      }
      target.write(number(in, from, (int) scale), out, ordinal);
    };
  }

  /** A UUID in 16 bytes, as text. */
  static AvroReader uuid(DataType type, Begin begin) {
    if (!(type instanceof StringType)) {
      return of(type, begin);
    }
    return (in, out, ordinal) -> {
      int from = begin.of(in);
      if (in.at - from != UUID_BYTES) {
        throw Rejected.wrongType("a UUID that is not of 16 bytes");
      }
      ByteBuffer bytes = ByteBuffer.wrap(in.bytes, from, UUID_BYTES);
      String text = new UUID(bytes.getLong(), bytes.getLong()).toString();
      out.write(ordinal, text.getBytes(StandardCharsets.UTF_8));
    };
  }
}
