package dev.joinery.kernel.door;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.apache.spark.sql.streaming.SourceProgress;
import org.apache.spark.sql.streaming.StateOperatorProgress;
import org.apache.spark.sql.streaming.StreamingQueryListener;
import org.apache.spark.sql.streaming.StreamingQueryProgress;

/**
 * Remembers what Spark tells of each batch until it is asked for.
 *
 * <p>A listener in Python would be told field by field, which costs more than a small batch.
 */
public final class ProgressLog extends StreamingQueryListener {
  private static final ObjectMapper JSON = new ObjectMapper();
  private final ConcurrentLinkedQueue<String> told = new ConcurrentLinkedQueue<>();

  @Override
  public void onQueryStarted(QueryStartedEvent event) {}

  @Override
  public void onQueryProgress(QueryProgressEvent event) {
    told.add(text(event.progress()));
  }

  @Override
  public void onQueryTerminated(QueryTerminatedEvent event) {}

  /**
   * Takes what was told since the last time, a JSON list: {@code {"query", "batch", "durations",
   * "sources": [{"metrics", "end", "latest"}, …], "state"}} each; the last is what RocksDB keeps in
   * files, in bytes, null without one.
   */
  public String take() {
    List<String> taken = new ArrayList<>();
    for (String next = told.poll(); next != null; next = told.poll()) {
      taken.add(next);
    }
    return "[" + String.join(",", taken) + "]";
  }

  private static String text(StreamingQueryProgress progress) {
    ObjectNode batch = JSON.createObjectNode();
    batch.put("query", progress.name()).put("batch", progress.batchId());
    batch.set("durations", JSON.valueToTree(progress.durationMs()));
    ArrayNode sources = batch.putArray("sources");
    for (SourceProgress source : progress.sources()) {
      ObjectNode read = sources.addObject();
      read.set("metrics", JSON.valueToTree(source.metrics()));
      read.put("end", source.endOffset()).put("latest", source.latestOffset());
    }
    batch.put("state", stateBytes(progress));
    return batch.toString();
  }

  private static Long stateBytes(StreamingQueryProgress progress) {
    Long bytes = null;
    for (StateOperatorProgress operator : progress.stateOperators()) {
      Long held = operator.customMetrics().get("rocksdbSstFileSize");
      if (held != null) {
        bytes = held + (bytes == null ? 0 : bytes);
      }
    }
    return bytes;
  }
}
