package dev.joinery.kernel.door;

import java.util.List;
import org.apache.spark.sql.streaming.StreamingQuery;

/** Tells which queries go on, of all with one question: Python asks twenty times a second. */
public final class Going {
  private Going() {}

  /** Returns a letter for each query: {@code y} where it is active. */
  public static String of(List<StreamingQuery> queries) {
    StringBuilder told = new StringBuilder();
    queries.forEach(each -> told.append(each.isActive() ? 'y' : 'n'));
    return told.toString();
  }
}
