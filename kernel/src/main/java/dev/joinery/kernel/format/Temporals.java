package dev.joinery.kernel.format;

import java.nio.charset.StandardCharsets;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeWriter;

/** The readers of dates, timestamps and times of day. */
final class Temporals {
  /** What a number counts. */
  enum Unit {
    DAYS("a date"),
    MILLIS("a timestamp"),
    MICROS("a timestamp"),
    NANOS("a timestamp"),
    TIME_MILLIS("a time of day"),
    TIME_MICROS("a time of day"),
    TIME_NANOS("a time of day");

    final String kind;

    Unit(String kind) {
      this.kind = kind;
    }

    /** Returns the micros since 1970, or since midnight; what is below is cut off. */
    long micros(long number) {
      try {
        return switch (this) {
          case DAYS -> Math.multiplyExact(number, IsoText.MICROS_PER_DAY);
          case MILLIS, TIME_MILLIS -> Math.multiplyExact(number, 1000L);
          case MICROS, TIME_MICROS -> number;
          case NANOS, TIME_NANOS -> Math.floorDiv(number, 1000L);
        };
      } catch (ArithmeticException tooLarge) {
        throw Rejected.outOfRange("the number does not fit timestamp");
      }
    }

    boolean timeOfDay() {
      return this == TIME_MILLIS || this == TIME_MICROS || this == TIME_NANOS;
    }
  }

  private Temporals() {}

  static final class Timestamp extends ValueReader {
    private final Unit unit;
    private final String type;
    private final IsoText iso = new IsoText();

    Timestamp(Unit unit, String type) {
      this.unit = unit;
      this.type = type;
    }

    @Override
    void read(JsonCursor json, int from, int to, boolean escaped, UnsafeWriter out, int ordinal) {
      out.write(ordinal, micros(json, from, to, escaped));
    }

    long micros(JsonCursor json, int from, int to, boolean escaped) {
      if (json.text[from] == '"') {
        json.textOf(from, to, escaped);
        return microsOfText(json.chars, json.charsFrom, json.charsTo);
      }
      if (!Numbers.at(json, from) || unit.timeOfDay()) {
        throw Numbers.wrong(json, from, type);
      }
      return unit.micros(Numbers.whole(json, from, to, type));
    }

    long microsOfText(byte[] chars, int from, int to) {
      try {
        return iso.micros(chars, from, to);
      } catch (ArithmeticException tooLarge) {
        throw Rejected.outOfRange("the text does not fit " + type);
      }
    }
  }

  static final class Date extends ValueReader {
    private final Unit unit;
    private final IsoText iso = new IsoText();

    Date(Unit unit) {
      this.unit = unit;
    }

    @Override
    void read(JsonCursor json, int from, int to, boolean escaped, UnsafeWriter out, int ordinal) {
      if (json.text[from] == '"') {
        json.textOf(from, to, escaped);
        out.write(ordinal, iso.days(json.chars, json.charsFrom, json.charsTo));
        return;
      }
      if (!Numbers.at(json, from) || unit.timeOfDay()) {
        throw Numbers.wrong(json, from, "date");
      }
      write(Numbers.whole(json, from, to, "date"), out, ordinal);
    }

    void write(long number, UnsafeWriter out, int ordinal) {
      long days = unit == Unit.DAYS ? number : wholeDays(unit.micros(number));
      if (days != (int) days) {
        throw Rejected.outOfRange("the number does not fit date");
      }
      out.write(ordinal, (int) days);
    }

    private static long wholeDays(long micros) {
      if (Math.floorMod(micros, IsoText.MICROS_PER_DAY) != 0) {
        throw Rejected.wrongType("a timestamp with a time of day where date is declared");
      }
      return Math.floorDiv(micros, IsoText.MICROS_PER_DAY);
    }

    @Override
    void writeNull(UnsafeWriter out, int ordinal) {
      out.setNull4Bytes(ordinal);
    }

    @Override
    int elementBytes() {
      return 4;
    }
  }

  /** A number with a temporal meaning, declared as text: written in ISO 8601. */
  static final class AsText extends ValueReader {
    private static final DateTimeFormatter TIME = DateTimeFormatter.ofPattern("HH:mm:ss");
    private final Unit unit;
    private final Scalars.Text text = new Scalars.Text();

    AsText(Unit unit) {
      this.unit = unit;
    }

    @Override
    void read(JsonCursor json, int from, int to, boolean escaped, UnsafeWriter out, int ordinal) {
      if (!Numbers.at(json, from)) {
        text.read(json, from, to, escaped, out, ordinal);
        return;
      }
      write(Numbers.whole(json, from, to, unit.kind), out, ordinal);
    }

    void write(long number, UnsafeWriter out, int ordinal) {
      out.write(ordinal, iso(unit.micros(number)).getBytes(StandardCharsets.UTF_8));
    }

    private String iso(long micros) {
      long days = Math.floorDiv(micros, IsoText.MICROS_PER_DAY);
      long ofDay = Math.floorMod(micros, IsoText.MICROS_PER_DAY);
      LocalTime time = LocalTime.ofNanoOfDay(ofDay * 1000);
      String fraction = String.format(".%06d", ofDay % 1_000_000);
      String clock = TIME.format(time) + (ofDay % 1_000_000 == 0 ? "" : fraction);
      if (unit.timeOfDay()) {
        if (days != 0) {
          throw Rejected.outOfRange("no such time of day");
        }
        return clock;
      }
      LocalDate date = LocalDateTime.ofEpochSecond(days * 86_400, 0, ZoneOffset.UTC).toLocalDate();
      return unit == Unit.DAYS ? date.toString() : date + "T" + clock + "Z";
    }
  }
}
