package dev.joinery.kernel.spark;

import org.apache.spark.sql.Column;
import org.apache.spark.sql.functions;

/**
 * The time of a batch in microseconds since 1970, the same for all of its rows, and for the batch
 * when it is run again.
 *
 * <p>Spark writes the time of a batch into the code that it generates, as a number; so the code of
 * every batch was new, and compiled twice. It generates none for {@code zip_with}, and keeps the
 * number in the expression.
 */
public final class BatchTime {
  private BatchTime() {}

  public static Column micros() {
    Column time = functions.array(functions.unix_micros(functions.current_timestamp()));
    return functions.get(functions.zip_with(time, time, (each, same) -> each), functions.lit(0));
  }
}
