package dev.joinery.kernel.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.function.Function;
import java.util.function.IntFunction;
import org.apache.spark.SparkException;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import scala.jdk.javaapi.CollectionConverters;

/** Inside of real tasks, with which the thread that reads ends. */
@Timeout(60)
final class RowsAheadTest {
  private static final JavaSparkContext SPARK =
      JavaSparkContext.fromSparkContext(LocalSpark.SESSION.sparkContext());
  private static final CountDownLatch STOPPED = new CountDownLatch(1);

  private interface Work extends Function<RowsAhead, List<Integer>>, Serializable {}

  private interface Source extends IntFunction<Integer>, Serializable {}

  @Test
  void rowsComeInTheirOrderAlthoughTheyShareOneObject() {
    List<Integer> read = inTask(10_000, place -> place, RowsAheadTest::all);

    assertEquals(10_000, read.size());
    assertEquals(List.of(0, 1, 2), read.subList(0, 3));
    assertEquals(9_999, read.get(9_999));
  }

  @Test
  void rowsThatHaveNotComeAreNotWaitedFor() {
    List<Integer> read =
        inTask(
            2,
            place -> place == 0 ? 7 : untilStopped(),
            rows -> {
              List<Integer> found = new ArrayList<>(List.of(rows.take().getInt(0)));
              assertEquals(null, rows.poll());
              assertEquals(false, rows.hasEnded());
              return found;
            });

    assertEquals(List.of(7), read);
    assertEquals(0, STOPPED.getCount(), "the task has ended, and so has what read ahead of it");
  }

  @Test
  void whatGoesWrongWhileReadingEndsTheTask() {
    Source broken =
        place -> {
          throw new IllegalStateException("row " + place);
        };

    Exception failure =
        assertThrows(SparkException.class, () -> inTask(1, broken, RowsAheadTest::all));

    assertTrue(failure.getMessage().contains("row 0"), failure.getMessage());
  }

  private static List<Integer> all(RowsAhead rows) {
    List<Integer> found = new ArrayList<>();
    for (UnsafeRow row = rows.take(); row != null; row = rows.take()) {
      found.add(row.getInt(0));
    }
    assertTrue(rows.hasEnded());
    return found;
  }

  private static int untilStopped() {
    try {
      new CountDownLatch(1).await();
      return 0;
    } catch (InterruptedException stopped) {
      STOPPED.countDown();
      return 0;
    }
  }

  private static List<Integer> inTask(int count, Source source, Work work) {
    return SPARK
        .parallelize(List.of(count), 1)
        .mapPartitions(
            counts -> {
              Iterator<InternalRow> rows = rows(counts.next(), source);
              return work.apply(RowsAhead.of(CollectionConverters.asScala(rows))).iterator();
            })
        .collect();
  }

  private static Iterator<InternalRow> rows(int count, Source source) {
    UnsafeRowWriter row = new UnsafeRowWriter(1);
    return new Iterator<>() {
      private int next;

      @Override
      public boolean hasNext() {
        return next < count;
      }

      @Override
      public InternalRow next() {
        row.reset();
        row.write(0, (int) source.apply(next++));
        return row.getRow();
      }
    };
  }
}
