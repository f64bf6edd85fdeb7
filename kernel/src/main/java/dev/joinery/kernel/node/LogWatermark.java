package dev.joinery.kernel.node;

import dev.joinery.kernel.message.Marks;
import java.util.Objects;

/**
 * The watermark of logs before a batch, as the driver tells the batch's tasks: the least of them.
 * Remembers what it last read.
 */
public final class LogWatermark {
  private final NodeContext context;
  private final int[] logs;
  private String read;
  private Reached reached = Reached.NOTHING;

  public LogWatermark(int[] logs, NodeContext context) {
    this.context = context;
    this.logs = logs;
  }

  /** {@link Marks#UNKNOWN} until each log has told a time. */
  public long micros() {
    return reached().watermark();
  }

  /** The watermark, and of a single log when it was taken as ended. */
  Reached reached() {
    String told = context.watermarks();
    if (!Objects.equals(told, read)) {
      reached = told == null ? Reached.NOTHING : least(told);
      read = told;
    }
    return reached;
  }

  /** So long before the watermark. */
  public long before(long micros) {
    long now = micros();
    return now == Marks.UNKNOWN ? Marks.UNKNOWN : now - micros;
  }

  private Reached least(String told) {
    BatchWatermarks watermarks = BatchWatermarks.read(told);
    Reached least = null;
    for (int log : logs) {
      Reached each = watermarks.reached(context.program().relations().get(log).name());
      least = least == null || each.watermark() < least.watermark() ? each : least;
    }
    return least;
  }
}
