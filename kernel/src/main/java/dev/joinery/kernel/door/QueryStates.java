package dev.joinery.kernel.door;

import dev.joinery.kernel.spark.LogsRead;
import java.util.List;
import org.apache.spark.sql.streaming.StreamingQuery;
import org.apache.spark.sql.streaming.StreamingQueryStatus;

/** How all queries of a run stand, in one call: Python asks twenty times a second. */
public final class QueryStates {
  private static final char ENDED = 'e';
  private static final char HAS_ALL = 'a';
  private static final char READS = 'r';

  private QueryStates() {}

  /**
   * Returns a letter for each query: {@code e} where it has ended, {@code a} where it found nothing
   * new when it last looked, else {@code r}.
   */
  public static String of(List<StreamingQuery> queries) {
    StringBuilder told = new StringBuilder();
    queries.forEach(each -> told.append(letter(each)));
    return told.toString();
  }

  private static char letter(StreamingQuery query) {
    if (!query.isActive()) {
      return ENDED;
    }
    return looks(query.status()) && LogsRead.hadNothing(query) ? HAS_ALL : READS;
  }

  /** Whether a query looks for more, or rests until it does: no batch is under way. */
  private static boolean looks(StreamingQueryStatus status) {
    String doing = status.message();
    return doing.startsWith("Getting offsets") || doing.startsWith("Waiting for");
  }
}
