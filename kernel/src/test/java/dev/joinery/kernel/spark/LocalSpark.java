package dev.joinery.kernel.spark;

import org.apache.spark.sql.classic.SparkSession;

/** The one Spark of all tests that need one; a Java process can have no second, and ends it. */
public final class LocalSpark {
  public static final SparkSession SESSION =
      (SparkSession)
          SparkSession.builder()
              .master("local[2]")
              .appName("kernel tests")
              .config("spark.ui.enabled", "false")
              .config("spark.driver.host", "localhost")
              .config("spark.driver.bindAddress", "127.0.0.1")
              .config("spark.joinery.oneStage", "true")
              // A task that ends with memory that nobody freed fails.
              .config("spark.unsafe.exceptionOnMemoryLeak", "true")
              .config("spark.buffer.pageSize", "1m")
              .getOrCreate();

  private LocalSpark() {}
}
