package dev.joinery.kernel.format;

import java.nio.charset.StandardCharsets;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Locale;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeWriter;

/** The targets of dates, timestamps and times of day. */
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

    /** Returns what a number counts by Kafka Connect's name or Avro's logical type, or null. */
    static Unit meant(String meaning) {
      return switch (meaning) {
        case "date", "io.debezium.time.Date", "org.apache.kafka.connect.data.Date" -> DAYS;
        case "timestamp-millis",
            "local-timestamp-millis",
            "io.debezium.time.Timestamp",
            "org.apache.kafka.connect.data.Timestamp" ->
            MILLIS;
        case "timestamp-micros", "local-timestamp-micros", "io.debezium.time.MicroTimestamp" ->
            MICROS;
        case "timestamp-nanos", "local-timestamp-nanos", "io.debezium.time.NanoTimestamp" -> NANOS;
        case "time-millis", "io.debezium.time.Time", "org.apache.kafka.connect.data.Time" ->
            TIME_MILLIS;
        case "time-micros", "io.debezium.time.MicroTime" -> TIME_MICROS;
        case "io.debezium.time.NanoTime" -> TIME_NANOS;
        default -> null;
      };
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

    /**
     * Returns the infinity of PostgreSQL that a number is, as versions of Debezium tell it; null for
     * none. They are outside of what PostgreSQL has else.
     */
    String infinity(long number) {
      return switch (this) {
        case DAYS ->
            number == LATEST || number == LATEST_BEFORE
                ? "Infinity"
                : number == EARLIEST ? "-Infinity" : null;
        case MICROS -> number >= LAST ? "Infinity" : number <= FIRST ? "-Infinity" : null;
        case MILLIS ->
            number == LAST || number == LAST / 1000
                ? "Infinity"
                : number == FIRST || number == FIRST / 1000 ? "-Infinity" : null;
        default -> null;
      };
    }

    boolean timeOfDay() {
      return this == TIME_MILLIS || this == TIME_MICROS || this == TIME_NANOS;
    }
  }

  /** What PostgreSQL's driver has for infinite timestamps, and Debezium for infinite dates. */
  private static final long LAST = 9_223_372_036_825_200_000L;

  private static final long FIRST = -9_223_372_036_832_400_000L;
  private static final long LATEST = LocalDate.of(5_877_611, 6, 21).toEpochDay();
  private static final long LATEST_BEFORE = LocalDate.of(-5_877_611, 6, 21).toEpochDay();
  private static final long EARLIEST = LocalDate.of(-5_877_611, 6, 22).toEpochDay();

  private Temporals() {}

  static final class Timestamp extends Target {
    private final Unit unit;
    private final IsoText iso = new IsoText();

    Timestamp(Unit unit, String name) {
      super(name);
      this.unit = unit;
    }

    @Override
    void digits(byte[] text, int from, int to, UnsafeWriter out, int ordinal) {
      requireDay(unit, this);
      whole(Numbers.whole(text, from, to, name), out, ordinal);
    }

    @Override
    void whole(long number, UnsafeWriter out, int ordinal) {
      requireDay(unit, this);
      requireFinite(unit.infinity(number), this);
      out.write(ordinal, unit.micros(number));
    }

    @Override
    void text(byte[] chars, int from, int to, UnsafeWriter out, int ordinal) {
      requireFinite(infinity(chars, from, to), this);
      out.write(ordinal, iso.micros(chars, from, to, name));
    }
  }

  static final class Date extends Target {
    private final Unit unit;
    private final IsoText iso = new IsoText();

    Date(Unit unit) {
      super("date", 4);
      this.unit = unit;
    }

    @Override
    void digits(byte[] text, int from, int to, UnsafeWriter out, int ordinal) {
      requireDay(unit, this);
      whole(Numbers.whole(text, from, to, name), out, ordinal);
    }

    @Override
    void whole(long number, UnsafeWriter out, int ordinal) {
      requireDay(unit, this);
      requireFinite(unit.infinity(number), this);
      long days = unit == Unit.DAYS ? number : wholeDays(unit.micros(number));
      if (days != (int) days) {
        throw tooLarge();
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
    void text(byte[] chars, int from, int to, UnsafeWriter out, int ordinal) {
      requireFinite(infinity(chars, from, to), this);
      out.write(ordinal, iso.days(chars, from, to));
    }
  }

  private static void requireFinite(String infinity, Target target) {
    if (infinity != null) {
      throw target.wrong(infinity);
    }
  }

  /** Returns the infinity that a text of PostgreSQL says; null for none. */
  private static String infinity(byte[] chars, int from, int to) {
    int length = to - from;
    if (length != 8 && length != 9 || chars[to - 1] != 'y') {
      return null;
    }
    return switch (new String(chars, from, length, StandardCharsets.ISO_8859_1)) {
      case "infinity" -> "Infinity";
      case "-infinity" -> "-Infinity";
      default -> null;
    };
  }

  /** A number that counts time of day says nothing of a day. */
  private static void requireDay(Unit unit, Target target) {
    if (unit.timeOfDay()) {
      throw target.wrong("a number");
    }
  }

  /** A number with a temporal meaning, declared as text: written in ISO 8601. */
  static final class AsText extends Targets.Text {
    private static final DateTimeFormatter TIME = DateTimeFormatter.ofPattern("HH:mm:ss");
    private final Unit unit;

    AsText(Unit unit) {
      this.unit = unit;
    }

    @Override
    void digits(byte[] text, int from, int to, UnsafeWriter out, int ordinal) {
      whole(Numbers.whole(text, from, to, unit.kind), out, ordinal);
    }

    @Override
    void whole(long number, UnsafeWriter out, int ordinal) {
      String infinity = unit.infinity(number);
      String text = infinity == null ? iso(unit.micros(number)) : infinity.toLowerCase(Locale.ROOT);
      out.write(ordinal, text.getBytes(StandardCharsets.UTF_8));
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
