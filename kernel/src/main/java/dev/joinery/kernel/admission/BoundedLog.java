package dev.joinery.kernel.admission;

import org.apache.spark.sql.connector.read.streaming.Offset;

/** A log that a query reads up to the end that it had when the query started. */
public interface BoundedLog {
  /** Whether this is that end; false where the query goes on as the log does. */
  boolean endsAt(Offset offset);
}
