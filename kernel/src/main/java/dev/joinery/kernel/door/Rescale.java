package dev.joinery.kernel.door;

import dev.joinery.kernel.chain.MovedState;
import org.apache.spark.sql.SparkSession;

/** The door to what a change of the number of partitions needs beside Spark's own tool. */
public final class Rescale {
  private Rescale() {}

  /** As of {@link MovedState#write}, after Spark's tool has made {@code batch}. */
  public static void finish(SparkSession session, String checkpoint, long batch, int partitions) {
    MovedState.write(
        (org.apache.spark.sql.classic.SparkSession) session, checkpoint, batch, partitions);
  }
}
