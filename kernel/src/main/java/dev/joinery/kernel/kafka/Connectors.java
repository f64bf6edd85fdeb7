package dev.joinery.kernel.kafka;

import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;

/** What Joinery's sources do with Spark's connectors. */
final class Connectors {
  private static final long WAIT_MS = 1_000;

  private Connectors() {}

  /**
   * Stops a connector, and waits for that a second at most.
   *
   * <p>The client of brokers that are away ends once it has given up its last question, a minute after that was asked
   * by default. Whoever ends a query, or asks the brokers anew, need not wait for it.
   */
  static void stop(MicroBatchStream connector) {
    Thread stopping = new Thread(connector::stop, "joinery-kafka-stop");
    stopping.setDaemon(true);
    stopping.start();
    try {
      stopping.join(WAIT_MS);
    } catch (InterruptedException ending) {
      Thread.currentThread().interrupt();
    }
  }
}
