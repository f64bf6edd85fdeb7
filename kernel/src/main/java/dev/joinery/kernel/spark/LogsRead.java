package dev.joinery.kernel.spark;

import dev.joinery.kernel.admission.BoundedLog;
import java.util.List;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.SparkDataStream;
import org.apache.spark.sql.execution.streaming.runtime.StreamExecution;
import org.apache.spark.sql.execution.streaming.runtime.StreamProgress;
import org.apache.spark.sql.execution.streaming.runtime.StreamingQueryWrapper;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/** How far the batch that a query is at reads the query's logs. */
public final class LogsRead {
  private LogsRead() {}

  /**
   * Whether it reads all of them to the end that they had when the query started.
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
    List<SparkDataStream> logs = CollectionConverters.asJava(execution.sources());
    return logs.stream().allMatch(each -> isRead(each, reached.get(each)));
  }

  private static boolean isRead(SparkDataStream log, Option<Offset> reached) {
    return log instanceof BoundedLog bounded
        && bounded.endsAt(reached.isEmpty() ? log.initialOffset() : reached.get());
  }
}
