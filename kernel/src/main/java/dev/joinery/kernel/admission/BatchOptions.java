package dev.joinery.kernel.admission;

import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * What bounds the batches of one source.
 *
 * @param maxRows rows a batch, at most; 0 leaves them to {@link BatchSize}
 * @param maxBytes bytes a batch, about at most
 * @param triggerMillis a batch is begun so often, at most
 * @param memoryShare of Spark's memory, what one batch of this source may count on
 * @param rowBytes the mean size of rows, where it is known before any was read, else 0
 * @param mostRows where rows are left to {@link BatchSize}, the most it may take
 * @param paced somebody waits for what each batch sends, so none should last long
 * @param restMillis how long a look of Spark's may last while nothing comes
 */
public record BatchOptions(
    long maxRows,
    long maxBytes,
    long triggerMillis,
    double memoryShare,
    double rowBytes,
    long mostRows,
    boolean paced,
    long restMillis) {
  /**
   * Reads the options {@code maxRowsPerBatch}, {@code maxBytesPerBatch}, {@code triggerMillis},
   * {@code memoryShare}, {@code rowBytes}, {@code mostRowsPerBatch}, {@code paced} and {@code
   * restMillis}; what is not there is no bound, and no rest.
   */
  public static BatchOptions of(CaseInsensitiveStringMap options) {
    return new BatchOptions(
        options.getLong("maxRowsPerBatch", Long.MAX_VALUE),
        options.getLong("maxBytesPerBatch", Long.MAX_VALUE),
        options.getLong("triggerMillis", 0),
        options.getDouble("memoryShare", 1.0),
        options.getDouble("rowBytes", 0),
        options.getLong("mostRowsPerBatch", Long.MAX_VALUE),
        options.getBoolean("paced", true),
        options.getLong("restMillis", 0));
  }
}
