package dev.joinery.kernel.node;

import dev.joinery.kernel.message.Marks;
import java.util.Objects;

/**
 * The watermark of logs of events before a batch, as the driver tells the batch's tasks: the least
 * of them. Remembers what it last read.
 */
public final class LogWatermark {
  private final NodeContext context;
  private final int[] logs;
  private String read;
  private long watermark = Marks.UNKNOWN;

  public LogWatermark(int[] logs, NodeContext context) {
    this.context = context;
    this.logs = logs;
  }

  /** {@link Marks#UNKNOWN} until each log has told a time. */
  public long micros() {
    String told = context.watermarks();
    if (!Objects.equals(told, read)) {
      watermark = told == null ? Marks.UNKNOWN : least(told);
      read = told;
    }
    return watermark;
  }

  /** So long before the watermark. */
  public long before(long micros) {
    long now = micros();
    return now == Marks.UNKNOWN ? Marks.UNKNOWN : now - micros;
  }

  private long least(String told) {
    BatchWatermarks watermarks = BatchWatermarks.read(told);
    long least = Long.MAX_VALUE;
    for (int log : logs) {
      least = Math.min(least, watermarks.of(context.program().relations().get(log).name()));
    }
    return least;
  }
}
