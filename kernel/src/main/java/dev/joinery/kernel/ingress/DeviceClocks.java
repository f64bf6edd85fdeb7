package dev.joinery.kernel.ingress;

import dev.joinery.kernel.message.Counters;
import java.math.BigDecimal;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * What the clocks of devices tell of one relation's rows: remembers how many were fixed and how
 * many are not believed, and how far they were apart.
 */
final class DeviceClocks {
  private static final UTF8String REPAIRED = UTF8String.fromString("repaired");
  private static final UTF8String SUSPECT = UTF8String.fromString("suspect");

  private final String relation;
  private final Clock.Device columns;
  private final long[] drifts = new long[TaskTimes.BUCKETS];
  private long repaired;
  private long suspect;
  private boolean drifted;

  DeviceClocks(String relation, Clock.Device columns) {
    this.relation = relation;
    this.columns = columns;
  }

  /** Counts a row as products see it; returns why it is refused, null where it is not. */
  String take(UnsafeRow row) {
    if (!row.isNullAt(columns.sent()) && !row.isNullAt(columns.received())) {
      drifts[TaskTimes.bucket(Math.abs(drift(row)))]++;
      drifted = true;
    }
    UTF8String flag = row.getUTF8String(columns.flag());
    if (REPAIRED.equals(flag)) {
      repaired++;
    } else if (SUSPECT.equals(flag)) {
      suspect++;
      return columns.refuses() ? reason(row) : null;
    }
    return null;
  }

  private long drift(UnsafeRow row) {
    return row.getLong(columns.received()) - row.getLong(columns.sent());
  }

  private String reason(UnsafeRow row) {
    if (row.isNullAt(columns.event())) {
      return "It does not tell when it happened.";
    }
    if (row.isNullAt(columns.sent()) || row.isNullAt(columns.received())) {
      return "It does not tell when it was sent, or when it was received.";
    }
    long early = row.getLong(columns.event()) - row.getLong(columns.sent());
    if (early > 0) {
      return "It was sent " + seconds(early) + " s before it happened.";
    }
    return "Its clock is " + seconds(Math.abs(drift(row))) + " s from that of what received it.";
  }

  private static String seconds(long micros) {
    return BigDecimal.valueOf(micros, 6).stripTrailingZeros().toPlainString();
  }

  /** Adds what was taken since the last call. */
  void drainTo(Counters counters) {
    if (repaired > 0) {
      counters.relation(relation, "clock_repaired", repaired);
      repaired = 0;
    }
    if (suspect > 0) {
      counters.relation(relation, "clock_suspect", suspect);
      suspect = 0;
    }
    if (drifted) {
      drifted = false;
      for (int i = 0; i < drifts.length; i++) {
        if (drifts[i] > 0) {
          counters.add(Counters.DRIFT, relation, Integer.toString(i), drifts[i]);
          drifts[i] = 0;
        }
      }
    }
  }
}
