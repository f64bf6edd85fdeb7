package dev.joinery.kernel.format;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Base64;
import org.apache.avro.Schema;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeWriter;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.StringType;

/** The readers of Avro's texts: as text, or as what Debezium writes in text. */
final class AvroTexts {
  private AvroTexts() {}

  /** Writes the value that a span of UTF-8 says. */
  interface Text {
    void write(byte[] chars, int from, int to, UnsafeWriter out, int ordinal);
  }

  static AvroReader of(DataType type, Temporals.Unit unit) {
    Text text = text(type, unit);
    return (in, out, ordinal) -> {
      int length = in.readLength();
      int from = in.skip(length);
      requireUtf8(in.bytes, from, from + length);
      text.write(in.bytes, from, from + length, out, ordinal);
    };
  }

  static AvroReader symbols(Schema schema, Text text) {
    byte[][] symbols =
        schema.getEnumSymbols().stream()
            .map(each -> each.getBytes(StandardCharsets.UTF_8))
            .toArray(byte[][]::new);
    return (in, out, ordinal) -> {
      byte[] symbol = symbols[in.readIndex(symbols.length)];
      text.write(symbol, 0, symbol.length, out, ordinal);
    };
  }

  static void requireUtf8(byte[] bytes, int from, int to) {
    if (Utf8.firstInvalid(bytes, from, to) >= 0) {
      throw Rejected.undecodable("a text that is not UTF-8");
    }
  }

  static Text text(DataType type, Temporals.Unit unit) {
    String name = AvroReaders.name(type);
    if (type instanceof StringType) {
      return (chars, from, to, out, ordinal) -> out.write(ordinal, chars, from, to - from);
    } else if (type instanceof DecimalType decimal) {
      Decimals.Output output = new Decimals.Output(decimal);
      return output::writeText;
    } else if (type.equals(DataTypes.TimestampType) || type.equals(DataTypes.TimestampNTZType)) {
      Temporals.Timestamp timestamp = new Temporals.Timestamp(unit, name);
      return (chars, from, to, out, ordinal) ->
          out.write(ordinal, timestamp.microsOfText(chars, from, to));
    } else if (type.equals(DataTypes.DateType)) {
      IsoText iso = new IsoText();
      return (chars, from, to, out, ordinal) -> out.write(ordinal, iso.days(chars, from, to));
    } else if (type.equals(DataTypes.BinaryType)) {
      return AvroTexts::base64;
    }
    return (chars, from, to, out, ordinal) -> {
      throw Rejected.wrongType("text where " + name + " is declared");
    };
  }

  private static void base64(byte[] chars, int from, int to, UnsafeWriter out, int ordinal) {
    try {
      ByteBuffer bytes = Base64.getDecoder().decode(ByteBuffer.wrap(chars, from, to - from));
      out.write(ordinal, Arrays.copyOf(bytes.array(), bytes.limit()));
    } catch (IllegalArgumentException notBase64) {
      throw Rejected.wrongType("the text is not base64, binary is declared");
    }
  }
}
