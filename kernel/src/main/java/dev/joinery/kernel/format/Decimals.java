package dev.joinery.kernel.format;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.math.RoundingMode;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeWriter;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;

/** The readers of exact numbers, and of Debezium's encodings of them. */
final class Decimals {
  private static final int LONG_DIGITS = 18;

  private Decimals() {}

  /** Writes numbers of one decimal type. */
  static final class Output extends ValueReader {
    private final DecimalType type;
    private final String name;

    Output(DecimalType type) {
      this.type = type;
      this.name = "decimal(" + type.precision() + "," + type.scale() + ")";
    }

    /** Reads a number, or a number in text. */
    @Override
    void read(JsonCursor json, int from, int to, boolean escaped, UnsafeWriter out, int ordinal) {
      byte[] text = json.text;
      if (text[from] == '"') {
        json.textOf(from, to, escaped);
        text = json.chars;
        from = json.charsFrom;
        to = json.charsTo;
      } else if (!Numbers.at(json, from)) {
        throw Numbers.wrong(json, from, name);
      }
      writeText(text, from, to, out, ordinal);
    }

    void writeText(byte[] text, int from, int to, UnsafeWriter out, int ordinal) {
      if (type.precision() > LONG_DIGITS || !plain(text, from, to, out, ordinal)) {
        write(Numbers.decimal(text, from, to, name), out, ordinal);
      }
    }

    /** Writes short digits with at most as many decimals as declared; false for others. */
    private boolean plain(byte[] text, int from, int to, UnsafeWriter out, int ordinal) {
      int start = from < to && text[from] == '-' ? from + 1 : from;
      if (start == to || to - start > LONG_DIGITS || text[start] == '.' || text[to - 1] == '.') {
        return false;
      }
      long unscaled = 0;
      int decimals = -1;
      for (int i = start; i < to; i++) {
        int digit = text[i] - '0';
        if (digit >= 0 && digit <= 9) {
          unscaled = unscaled * 10 + digit;
          decimals += decimals >= 0 ? 1 : 0;
        } else if (text[i] == '.' && decimals < 0) {
          decimals = 0;
        } else {
          return false;
        }
      }
      int missing = type.scale() - Math.max(decimals, 0);
      if (missing < 0 || to - start + missing > LONG_DIGITS) {
        return false;
      }
      for (int i = 0; i < missing; i++) {
        unscaled *= 10;
      }
      if (type.precision() < LONG_DIGITS && unscaled >= power(type.precision())) {
        throw tooLarge();
      }
      out.write(ordinal, start == from ? unscaled : -unscaled);
      return true;
    }

    private static long power(int digits) {
      long power = 1;
      for (int i = 0; i < digits; i++) {
        power *= 10;
      }
      return power;
    }

    void write(BigDecimal number, UnsafeWriter out, int ordinal) {
      BigDecimal scaled;
      try {
        scaled = number.setScale(type.scale(), RoundingMode.UNNECESSARY);
      } catch (ArithmeticException moreDecimals) {
        throw Rejected.wrongType("more decimals than " + name + " holds");
      }
      if (scaled.precision() > type.precision()) {
        throw tooLarge();
      }
      if (type.precision() <= LONG_DIGITS) {
        out.write(ordinal, scaled.unscaledValue().longValueExact());
      } else {
        Decimal value = Decimal.apply(scaled, type.precision(), type.scale());
        out.write(ordinal, value, type.precision(), type.scale());
      }
    }

    private Rejected tooLarge() {
      return Rejected.outOfRange("the number does not fit " + name);
    }

    @Override
    void writeNull(UnsafeWriter out, int ordinal) {
      if (type.precision() > LONG_DIGITS && out instanceof UnsafeRowWriter) {
        // Spark keeps the room of a large decimal, to set it in place.
        out.write(ordinal, (Decimal) null, type.precision(), type.scale());
      } else {
        out.setNull8Bytes(ordinal);
      }
    }
  }

  /** Where a decoded number goes: the declared type decides. */
  interface Target {
    void write(BigDecimal number, UnsafeWriter out, int ordinal);
  }

  static Target asText() {
    return (number, out, ordinal) ->
        out.write(ordinal, number.toPlainString().getBytes(StandardCharsets.UTF_8));
  }

  static Target asDouble() {
    return (number, out, ordinal) -> out.write(ordinal, number.doubleValue() + 0.0);
  }

  static Target asWhole(Scalars.Whole whole, String type) {
    return (number, out, ordinal) -> {
      try {
        whole.write(number.longValueExact(), out, ordinal);
      } catch (ArithmeticException fractionOrTooLarge) {
        throw Rejected.wrongType("the number does not fit " + type);
      }
    };
  }

  /** Kafka Connect's Decimal: the unscaled number as base64, the scale in the schema. */
  static final class Encoded extends ValueReader {
    private final ValueReader plain;
    private final Target target;
    private final int scale;

    Encoded(ValueReader plain, Target target, int scale) {
      this.plain = plain;
      this.target = target;
      this.scale = scale;
    }

    @Override
    void read(JsonCursor json, int from, int to, boolean escaped, UnsafeWriter out, int ordinal) {
      if (json.text[from] != '"') {
        plain.read(json, from, to, escaped, out, ordinal);
        return;
      }
      byte[] unscaled = Scalars.Binary.base64(json, from, to, escaped, "decimal");
      if (unscaled.length == 0) {
        throw Rejected.wrongType("a number without digits");
      }
      target.write(new BigDecimal(new BigInteger(unscaled), scale), out, ordinal);
    }

    @Override
    void writeNull(UnsafeWriter out, int ordinal) {
      plain.writeNull(out, ordinal);
    }

    @Override
    int elementBytes() {
      return plain.elementBytes();
    }
  }

  /** Debezium's VariableScaleDecimal: {@code {"scale": 2, "value": base64}}. */
  static final class Variable extends ValueReader {
    private static final int MAX_SCALE = 10_000;
    private final ValueReader plain;
    private final Target target;
    private final Spans spans = new Spans(List.of("scale", "value"));

    Variable(ValueReader plain, Target target) {
      this.plain = plain;
      this.target = target;
    }

    @Override
    void read(JsonCursor json, int from, int to, boolean escaped, UnsafeWriter out, int ordinal) {
      if (json.text[from] != '{') {
        plain.read(json, from, to, escaped, out, ordinal);
        return;
      }
      int after = json.at;
      json.at = from;
      spans.scan(json);
      json.at = after;
      if (!spans.present(0, json) || !spans.present(1, json)) {
        throw Rejected.wrongType("a decimal of variable scale without scale or value");
      }
      long scale = Numbers.whole(json, spans.from[0], spans.to[0], "int");
      byte[] unscaled =
          Scalars.Binary.base64(json, spans.from[1], spans.to[1], spans.escaped[1], "decimal");
      if (unscaled.length == 0 || Math.abs(scale) > MAX_SCALE) {
        throw Rejected.wrongType("not a decimal of variable scale");
      }
      target.write(new BigDecimal(new BigInteger(unscaled), (int) scale), out, ordinal);
    }

    @Override
    void writeNull(UnsafeWriter out, int ordinal) {
      plain.writeNull(out, ordinal);
    }

    @Override
    int elementBytes() {
      return plain.elementBytes();
    }
  }
}
