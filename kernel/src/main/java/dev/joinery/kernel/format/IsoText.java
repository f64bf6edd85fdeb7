package dev.joinery.kernel.format;

import java.time.DateTimeException;
import java.time.LocalDate;

/** Reads ISO 8601 dates and times from UTF-8; remembers how far it came in one text. */
final class IsoText {
  static final long MICROS_PER_DAY = 86_400_000_000L;
  private static final int MAX_YEAR_DIGITS = 7;

  private byte[] text;
  private int at;
  private int end;

  /** Whether the text of the last timestamp named a zone. */
  boolean zoned;

  /** Returns the days since 1970 of a date such as {@code 2026-01-02}. */
  int days(byte[] text, int from, int end) {
    open(text, from, end);
    int days = date();
    if (at < end && text[at] == 'Z') {
      at++;
    }
    finish("a date");
    return days;
  }

  /**
   * Returns the micros since 1970 of a timestamp; without a zone it is in UTC.
   *
   * @param type as which it is wanted, for a refusal
   */
  long micros(byte[] text, int from, int end, String type) {
    open(text, from, end);
    long days = date();
    long micros = 0;
    zoned = false;
    if (at < end) {
      if (text[at] != 'T' && text[at] != ' ' && text[at] != 't') {
        throw unreadable("a timestamp");
      }
      at++;
      micros = time() - offsetSeconds() * 1_000_000L;
    }
    finish("a timestamp");
    try {
      return Math.addExact(Math.multiplyExact(days, MICROS_PER_DAY), micros);
    } catch (ArithmeticException tooLarge) {
      throw Rejected.outOfRange("the text does not fit " + type);
    }
  }

  private void open(byte[] text, int from, int end) {
    this.text = text;
    this.at = from;
    this.end = end;
  }

  private int date() {
    boolean negative = at < end && text[at] == '-';
    boolean signed = negative || (at < end && text[at] == '+');
    if (signed) {
      at++;
    }
    int year = digits(4, signed ? MAX_YEAR_DIGITS : 4);
    skip('-');
    int month = digits(2, 2);
    skip('-');
    int day = digits(2, 2);
    return daysOf(negative ? -year : year, month, day);
  }

  private int daysOf(int year, int month, int day) {
    if (day <= 28 && day >= 1 && month >= 1 && month <= 12 && year >= 0) {
      // Days of the civil calendar from 1 March of year 0, in cycles of 400 years.
      int y = month <= 2 ? year + 399 : year + 400;
      int cycle = y / 400;
      int yearOfCycle = y - cycle * 400;
      int dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
      int dayOfCycle = yearOfCycle * 365 + yearOfCycle / 4 - yearOfCycle / 100 + dayOfYear;
      long days = cycle * 146097L + dayOfCycle - 719468 - 146097;
      if (days > Integer.MAX_VALUE) {
        throw Rejected.outOfRange("no such day");
      }
      return (int) days;
    }
    try {
      return Math.toIntExact(LocalDate.of(year, month, day).toEpochDay());
    } catch (DateTimeException | ArithmeticException noSuchDay) {
      throw Rejected.outOfRange("no such day");
    }
  }

  private long time() {
    int hour = digits(2, 2);
    skip(':');
    int minute = digits(2, 2);
    int second = 0;
    long fraction = 0;
    if (at < end && text[at] == ':') {
      at++;
      second = digits(2, 2);
      fraction = fraction();
    }
    boolean midnight = hour == 24 && minute == 0 && second == 0 && fraction == 0;
    if ((hour > 23 && !midnight) || minute > 59 || second > 59) {
      throw Rejected.outOfRange("no such time of day");
    }
    return ((hour * 60L + minute) * 60L + second) * 1_000_000L + fraction;
  }

  /** Reads digits after a point; what is below a microsecond is cut off. */
  private long fraction() {
    if (at >= end || (text[at] != '.' && text[at] != ',')) {
      return 0;
    }
    int start = ++at;
    long fraction = 0;
    while (at < end && text[at] >= '0' && text[at] <= '9') {
      if (at - start < 6) {
        fraction = fraction * 10 + text[at] - '0';
      }
      at++;
    }
    if (at == start) {
      throw unreadable("a timestamp");
    }
    for (int i = at - start; i < 6; i++) {
      fraction *= 10;
    }
    return fraction;
  }

  private int offsetSeconds() {
    if (at >= end) {
      return 0;
    }
    zoned = true;
    int sign = text[at++];
    if (sign == 'Z' || sign == 'z') {
      return 0;
    }
    if (sign != '+' && sign != '-') {
      throw unreadable("a timestamp");
    }
    int seconds = digits(2, 2) * 3600 + offsetPart() * 60 + offsetPart();
    if (seconds > 18 * 3600) {
      throw Rejected.outOfRange("no such offset from UTC");
    }
    return sign == '-' ? -seconds : seconds;
  }

  private int offsetPart() {
    if (at < end && text[at] == ':') {
      at++;
    } else if (at >= end) {
      return 0;
    }
    return digits(2, 2);
  }

  private int digits(int least, int most) {
    int start = at;
    int value = 0;
    while (at < end && at - start < most && text[at] >= '0' && text[at] <= '9') {
      value = value * 10 + text[at++] - '0';
    }
    if (at - start < least) {
      throw unreadable("a date or a timestamp");
    }
    return value;
  }

  private void skip(char wanted) {
    if (at >= end || text[at] != wanted) {
      throw unreadable("a date or a timestamp");
    }
    at++;
  }

  private void finish(String kind) {
    if (at != end) {
      throw unreadable(kind);
    }
  }

  private static Rejected unreadable(String kind) {
    return Rejected.wrongType("the text is not " + kind + " in ISO 8601");
  }
}
