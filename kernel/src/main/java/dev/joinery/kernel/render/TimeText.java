package dev.joinery.kernel.render;

/** Writes dates and timestamps in ISO 8601. */
final class TimeText {
  private static final long MICROS_PER_SECOND = 1_000_000L;
  private static final long MICROS_PER_DAY = 86_400 * MICROS_PER_SECOND;
  private static final int DAYS_PER_CYCLE = 146_097;

  private TimeText() {}

  /** Writes micros since 1970 as {@code 2026-01-02T03:04:05.123456Z}, without a zero fraction. */
  static void timestamp(long micros, boolean zoned, ByteSink out) {
    long ofDay = Math.floorMod(micros, MICROS_PER_DAY);
    out.reserve(40);
    days(Math.floorDiv(micros, MICROS_PER_DAY), out);
    long seconds = ofDay / MICROS_PER_SECOND;
    int hour = (int) (seconds / 3600);
    int minute = (int) (seconds / 60 % 60);
    pair('T', hour, out);
    pair(':', minute, out);
    pair(':', (int) (seconds % 60), out);
    long fraction = ofDay % MICROS_PER_SECOND;
    if (fraction != 0) {
      out.bytes[out.size++] = '.';
      NumberText.digits(fraction, 6, out);
    }
    if (zoned) {
      out.bytes[out.size++] = 'Z';
    }
  }

  static void date(long days, ByteSink out) {
    out.reserve(24);
    days(days, out);
  }

  /** Writes a day of the civil calendar, counted in cycles of 400 years from 1 March. */
  private static void days(long days, ByteSink out) {
    long shifted = days + 719_468;
    long cycle = Math.floorDiv(shifted, DAYS_PER_CYCLE);
    int ofCycle = (int) Math.floorMod(shifted, DAYS_PER_CYCLE);
    int yearOfCycle = (ofCycle - ofCycle / 1460 + ofCycle / 36524 - ofCycle / 146_096) / 365;
    int ofYear = ofCycle - (365 * yearOfCycle + yearOfCycle / 4 - yearOfCycle / 100);
    int shiftedMonth = (5 * ofYear + 2) / 153;
    int day = ofYear - (153 * shiftedMonth + 2) / 5 + 1;
    int month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9;
    year(yearOfCycle + cycle * 400 + (month <= 2 ? 1 : 0), out);
    pair('-', month, out);
    pair('-', day, out);
  }

  private static void year(long year, ByteSink out) {
    if (year < 0 || year > 9999) {
      out.bytes[out.size++] = (byte) (year < 0 ? '-' : '+');
    }
    long number = Math.abs(year);
    int digits = 4;
    for (long least = 10_000; number >= least; least *= 10) {
      digits++;
    }
    NumberText.digits(number, digits, out);
  }

  private static void pair(char before, int number, ByteSink out) {
    byte[] bytes = out.bytes;
    int size = out.size;
    bytes[size] = (byte) before;
    bytes[size + 1] = (byte) ('0' + number / 10);
    bytes[size + 2] = (byte) ('0' + number % 10);
    out.size = size + 3;
  }
}
