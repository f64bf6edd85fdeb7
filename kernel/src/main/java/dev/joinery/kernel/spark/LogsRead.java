package dev.joinery.kernel.spark;

import dev.joinery.kernel.admission.BoundedLog;
import dev.joinery.kernel.admission.WatchedLog;
import java.util.List;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.SparkDataStream;
import org.apache.spark.sql.execution.streaming.runtime.StreamExecution;
import org.apache.spark.sql.execution.streaming.runtime.StreamProgress;
import org.apache.spark.sql.execution.streaming.runtime.StreamingQueryWrapper;
import org.apache.spark.sql.streaming.StreamingQuery;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/** How far a query has read its logs. */
public final class LogsRead {
  private LogsRead() {}

  /**
   * Whether the batch that it is at reads all of them to the end that they had when it started.
   *
   * @param session in which the query was started
   * @param query its id
   */
  public static boolean toTheirEnds(SparkSession session, String query) {
    if (!(session.streams().get(query) instanceof StreamingQueryWrapper running)) {
      return false;
    }
    StreamExecution execution = running.streamingQuery();
    StreamProgress reached = execution.availableOffsets();
    return logs(execution).stream().allMatch(each -> isRead(each, reached.get(each)));
  }

  /** Whether none had anything new when the query last looked; false before it first did. */
  public static boolean hadNothing(StreamingQuery query) {
    if (!(query instanceof StreamingQueryWrapper running)) {
      return false;
    }
    List<SparkDataStream> logs = logs(running.streamingQuery());
    return !logs.isEmpty()
        && logs.stream().allMatch(each -> each instanceof WatchedLog log && log.hadNothing());
  }

  private static List<SparkDataStream> logs(StreamExecution execution) {
    return CollectionConverters.asJava(execution.sources());
  }

  private static boolean isRead(SparkDataStream log, Option<Offset> reached) {
    return log instanceof BoundedLog bounded
        && bounded.endsAt(reached.isEmpty() ? log.initialOffset() : reached.get());
  }
}
