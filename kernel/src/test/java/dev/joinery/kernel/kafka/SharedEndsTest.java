package dev.joinery.kernel.kafka;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.ReadLimit;
import org.apache.spark.sql.connector.read.streaming.SupportsTriggerAvailableNow;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class SharedEndsTest {
  private static final Offset START = new At("{\"a\":{\"0\":5}}");

  private long now;
  private String brokers = "{\"a\":{\"0\":5},\"b\":{\"0\":7}}";
  private RuntimeException away;
  private Runnable onAsked = () -> {};
  private int asked;
  private int stopped;
  private final List<String> opened = new ArrayList<>();
  private final SharedEnds ends = new SharedEnds(this::open, () -> now);
  private final TopicEnds own = ends.join("^(a|new)$");
  private final TopicEnds other = ends.join("^b$");

  private MicroBatchStream open(String pattern) {
    opened.add(pattern);
    return new Connector();
  }

  private void later() {
    now += SharedEnds.AGE_NANOS;
  }

  @Test
  void oneQuestionAnswersAllAndIsAskedAgainOnceItIsOld() {
    assertTrue(own.standAt(START));
    assertTrue(other.standAt(new At("{\"b\":{\"0\":7}}")));
    assertFalse(other.standAt(new At("{\"b\":{\"0\":6}}")));
    assertEquals(1, asked);
    assertEquals(List.of("(?:^(a|new)$)|(?:^b$)"), opened);

    later();
    assertTrue(own.standAt(START));
    assertEquals(2, asked);
    assertEquals(1, opened.size());
  }

  @Test
  void whoWaitsForAnAnswerTakesItHoweverLongTheBrokersTook() throws Exception {
    CountDownLatch begun = new CountDownLatch(1);
    CountDownLatch answered = new CountDownLatch(1);
    onAsked =
        () -> {
          begun.countDown();
          awaitOn(answered);
        };
    CompletableFuture<Boolean> first =
        CompletableFuture.supplyAsync(() -> own.standAt(START), each -> new Thread(each).start());
    begun.await();
    boolean[] told = new boolean[1];
    Thread waiting = new Thread(() -> told[0] = other.standAt(new At("{\"b\":{\"0\":7}}")));
    waiting.start();
    while (waiting.getState() != Thread.State.TIMED_WAITING) {
      Thread.onSpinWait();
    }

    now += 3 * SharedEnds.AGE_NANOS;
    answered.countDown();
    waiting.join();

    assertTrue(first.join());
    assertTrue(told[0]);
    assertEquals(1, asked);
  }

  private static void awaitOn(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException ending) {
      throw new IllegalStateException(ending);
    }
  }

  @Test
  void recordsPartitionsAndTopicsThatComeAreNewsToThoseWhoReadThem() {
    assertTrue(own.standAt(START));
    brokers = "{\"a\":{\"0\":5},\"b\":{\"0\":9}}";
    later();
    assertTrue(own.standAt(START));

    brokers = "{\"a\":{\"0\":6}}";
    later();
    assertFalse(own.standAt(START));
    assertTrue(own.standAt(new At("{\"a\":{\"0\":6}}")));

    brokers = "{\"a\":{\"0\":5,\"1\":0}}";
    later();
    assertFalse(own.standAt(START));

    brokers = "{\"a\":{\"0\":5},\"new\":{\"0\":0}}";
    later();
    assertFalse(own.standAt(START));
  }

  @Test
  void aTopicThatIsGoneOrMadeAnewIsNews() {
    brokers = "{\"b\":{\"0\":7}}";
    assertFalse(own.standAt(START));

    brokers = "{\"a\":{\"0\":0}}";
    later();
    assertFalse(own.standAt(START));
  }

  @Test
  void withoutTopicsNothingIsThere() {
    brokers = null;

    assertTrue(own.standAt(new At("{}")));
    assertFalse(own.standAt(START));
  }

  @Test
  void whereBrokersDoNotAnswerNobodyIsToldAndTheyAreAskedAnewALittleLater() {
    assertTrue(own.standAt(START));
    away = new IllegalStateException("away");
    later();

    assertFalse(own.standAt(START));
    assertFalse(other.standAt(new At("{\"b\":{\"0\":7}}")));
    assertEquals(2, asked);
    assertEquals(1, stopped);

    away = null;
    later();
    assertFalse(own.standAt(START));
    now += SharedEnds.PAUSE_NANOS;
    assertTrue(own.standAt(START));
    assertEquals(2, opened.size());
  }

  @Test
  void whoeverComesLaterIsToldOfTopicsThatWereNotAskedFor() {
    assertTrue(own.standAt(START));
    brokers = "{\"a\":{\"0\":5},\"b\":{\"0\":7},\"c\":{\"0\":1}}";

    TopicEnds late = ends.join("^c$");

    assertTrue(late.standAt(new At("{\"c\":{\"0\":1}}")));
    assertEquals(List.of("(?:^(a|new)$)|(?:^b$)", "(?:^(a|new)$)|(?:^b$)|(?:^c$)"), opened);
  }

  @Test
  void theLastOneClosesTheConnector() {
    assertTrue(own.standAt(START));

    other.close();
    assertEquals(0, stopped);
    own.close();
    assertEquals(1, stopped);
  }

  /** A place in topics. */
  private static final class At extends Offset {
    private final String json;

    At(String json) {
      this.json = json;
    }

    @Override
    public String json() {
      return json;
    }
  }

  /** Answers as the brokers do, for all patterns. */
  private final class Connector implements MicroBatchStream, SupportsTriggerAvailableNow {
    @Override
    public Offset latestOffset(Offset start, ReadLimit limit) {
      asked++;
      onAsked.run();
      if (away != null) {
        throw away;
      }
      return brokers == null ? null : new At(brokers);
    }

    @Override
    public Offset deserializeOffset(String json) {
      return new At(json);
    }

    @Override
    public void stop() {
      stopped++;
    }

    @Override
    public void prepareForTriggerAvailableNow() {}

    @Override
    public Offset latestOffset() {
      throw new UnsupportedOperationException();
    }

    @Override
    public InputPartition[] planInputPartitions(Offset start, Offset end) {
      throw new UnsupportedOperationException();
    }

    @Override
    public PartitionReaderFactory createReaderFactory() {
      throw new UnsupportedOperationException();
    }

    @Override
    public Offset initialOffset() {
      return START;
    }

    @Override
    public void commit(Offset end) {}
  }
}
