package dev.joinery.kernel.kafka;

import org.apache.spark.sql.connector.read.streaming.Offset;

/** Tells a stream whether its topics have anything new, without asking its own connector. */
interface TopicEnds extends AutoCloseable {
  /** Returns whether all topics are known to end where this offset stands; false where nobody can tell. */
  boolean standAt(Offset offset);

  /** Needs no more. */
  @Override
  void close();
}
