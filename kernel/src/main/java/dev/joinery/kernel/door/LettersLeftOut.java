package dev.joinery.kernel.door;

import java.util.function.LongConsumer;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.streaming.StreamingQueryListener;

/**
 * Tells how many dead letters a batch of a frame's documents left out; remembers nothing.
 *
 * <p>Python is called only where there are some.
 */
final class LettersLeftOut extends StreamingQueryListener {
  /** What a query's progress observes, for anyone. */
  static final String METRIC = "joinery";

  static final String COUNT = "dead_letters";

  private final LongConsumer watch;

  LettersLeftOut(LongConsumer watch) {
    this.watch = watch;
  }

  @Override
  public void onQueryStarted(QueryStartedEvent event) {}

  @Override
  public void onQueryProgress(QueryProgressEvent event) {
    Row observed = event.progress().observedMetrics().get(METRIC);
    long count = observed == null ? 0 : observed.<Long>getAs(COUNT);
    if (count > 0) {
      watch.accept(count);
    }
  }

  @Override
  public void onQueryTerminated(QueryTerminatedEvent event) {}
}
