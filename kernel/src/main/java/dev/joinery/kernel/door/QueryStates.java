package dev.joinery.kernel.door;

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
    StreamingQueryStatus status = query.status();
    if (status.isDataAvailable()) {
      return READS;
    }
    // A source that found nothing rests within the next look; the first one has no progress yet.
    boolean rests =
        status.message().startsWith("Getting offsets") && query.lastProgress() != null;
    return rests || status.message().startsWith("Waiting for") ? HAS_ALL : READS;
  }
}
