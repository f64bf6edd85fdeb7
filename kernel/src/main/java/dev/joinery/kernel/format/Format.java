package dev.joinery.kernel.format;

import java.io.Serializable;

/** Turns the raw records of one relation into changes; a copy is used by one thread. */
public interface Format extends Serializable {
  /**
   * Tells {@code sink} what a record says; never throws for what the record holds.
   *
   * @param relation handed on to the sink
   * @param key the record's key, or null
   * @param value the record's value; null is a tombstone
   */
  void decode(int relation, byte[] key, byte[] value, ChangeSink sink);

  /**
   * Tells when the log took the records that are decoded next, in microseconds since 1970; {@code
   * Long.MIN_VALUE} where that is not known.
   */
  void loggedAt(long micros);

  /** Which columns the rows decoded by this copy had; null before the first record. */
  ColumnsSeen columnsSeen();
}
