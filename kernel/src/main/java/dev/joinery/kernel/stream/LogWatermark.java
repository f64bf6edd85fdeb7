package dev.joinery.kernel.stream;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.joinery.kernel.message.Marks;
import dev.joinery.kernel.node.NodeContext;
import dev.joinery.kernel.program.Program;
import java.util.List;
import java.util.Objects;

/**
 * The watermark of logs of events before a batch, as the driver tells the batch's tasks: the least
 * over the partitions of all of them. Remembers what it last read.
 */
final class LogWatermark {
  private static final ObjectMapper JSON = new ObjectMapper();

  private final NodeContext context;
  private final List<Program.LogProgram> logs;
  private String read;
  private long watermark = Marks.UNKNOWN;

  LogWatermark(List<Program.LogProgram> logs, NodeContext context) {
    this.context = context;
    this.logs = logs;
  }

  /** {@link Marks#UNKNOWN} until each log has told a time. */
  long micros() {
    String told = context.newestTimes();
    if (!Objects.equals(told, read)) {
      watermark = told == null ? Marks.UNKNOWN : least(told);
      read = told;
    }
    return watermark;
  }

  /** So long before the watermark. */
  long before(long micros) {
    long now = micros();
    return now == Marks.UNKNOWN ? Marks.UNKNOWN : now - micros;
  }

  private long least(String told) {
    try {
      JsonNode newest = JSON.readTree(told);
      long least = Long.MAX_VALUE;
      for (Program.LogProgram log : logs) {
        String name = context.program().relations().get(log.relation()).name();
        long ofLog = Long.MAX_VALUE;
        for (JsonNode time : newest.path(name)) {
          ofLog = Math.min(ofLog, time.asLong() - log.delayMicros());
        }
        if (ofLog == Long.MAX_VALUE) {
          return Marks.UNKNOWN;
        }
        least = Math.min(least, ofLog);
      }
      return least;
    } catch (JsonProcessingException notJson) {
      throw new IllegalArgumentException(NodeContext.NEWEST + " is not JSON", notJson);
    }
  }
}
