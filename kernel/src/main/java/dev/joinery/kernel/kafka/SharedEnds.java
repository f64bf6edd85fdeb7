package dev.joinery.kernel.kafka;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;
import java.util.regex.Pattern;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.ReadLimit;
import org.apache.spark.sql.connector.read.streaming.SupportsAdmissionControl;

/**
 * Where topics end, asked of the brokers once for all streams of this process that reach them alike: a question costs
 * a millisecond of processor time, and ten queries that have nothing to do would ask two hundred a second.
 *
 * <p>What is told was asked {@link #AGE_NANOS} before it is wanted at most. Whoever wants it later asks, with a
 * connector for the topics of all; the others wait for that answer, however long the brokers take for it. A stream that hears nothing soon, or of a failure, is told
 * nothing, and asks its own connector: what brokers that are away do to a query is decided there.
 */
final class SharedEnds {
  static final long AGE_NANOS = 40_000_000;
  static final long PAUSE_NANOS = 1_000_000_000;
  private static final long WAIT_MS = 500;

  /** Queries come from Spark by themselves and know of one another by nothing else. */
  private static final Map<Map<String, String>, SharedEnds> OPEN = new HashMap<>();

  /** Opens the connector for the topics that an expression finds. */
  interface Opening {
    MicroBatchStream open(String pattern);
  }

  /**
   * What the brokers said.
   *
   * @param topics the partitions of each topic with their ends; the same object while they are the same
   * @param names of all topics; the same object while they are the same
   * @param patterns that were asked for
   * @param askedNanos when they were asked
   */
  private record Answer(
      Map<String, JsonNode> topics, Set<String> names, Set<String> patterns, long askedNanos) {}

  private final Opening opening;
  private final LongSupplier nanos;
  private final ReentrantLock asking = new ReentrantLock();

  /** By pattern, how many streams want its topics; guarded by this. */
  private final Map<String, Integer> wanted = new TreeMap<>();

  /** The rest is guarded by {@link #asking}. */
  private MicroBatchStream connector;

  private Set<String> connected = Set.of();
  private long failedNanos;
  private boolean failed;
  private volatile Answer answer;

  SharedEnds(Opening opening, LongSupplier nanos) {
    this.opening = opening;
    this.nanos = nanos;
  }

  /**
   * Returns the ends of the topics that a pattern finds.
   *
   * @param reached how the brokers are reached
   */
  static TopicEnds of(Map<String, String> reached, String pattern, Opening opening) {
    synchronized (OPEN) {
      SharedEnds ends =
          OPEN.computeIfAbsent(reached, each -> new SharedEnds(opening, System::nanoTime));
      TopicEnds told = ends.join(pattern);
      return new TopicEnds() {
        @Override
        public boolean standAt(Offset offset) {
          return told.standAt(offset);
        }

        @Override
        public void close() {
          synchronized (OPEN) {
            told.close();
            if (ends.isLeft()) {
              OPEN.remove(reached);
            }
          }
        }
      };
    }
  }

  /** Returns the ends of the topics that a pattern finds. */
  synchronized TopicEnds join(String pattern) {
    wanted.merge(pattern, 1, Integer::sum);
    return new Share(pattern);
  }

  private synchronized boolean isLeft() {
    return wanted.isEmpty();
  }

  private synchronized Set<String> wanted() {
    return new TreeSet<>(wanted.keySet());
  }

  private void leave(String pattern) {
    synchronized (this) {
      wanted.computeIfPresent(pattern, (each, streams) -> streams > 1 ? streams - 1 : null);
      if (!wanted.isEmpty()) {
        return;
      }
    }
    asking.lock();
    try {
      disconnect();
    } finally {
      asking.unlock();
    }
  }

  /** Returns what the brokers say of the topics of a pattern; null where nobody can tell. */
  private Answer answer(String pattern) {
    long wantedNanos = nanos.getAsLong();
    Answer known = answer;
    if (isNew(known, pattern, wantedNanos)) {
      return known;
    }
    try {
      if (!asking.tryLock(WAIT_MS, TimeUnit.MILLISECONDS)) {
        return null;
      }
    } catch (InterruptedException ending) {
      Thread.currentThread().interrupt();
      return null;
    }
    try {
      known = answer; // of whoever asked meanwhile
      if (isNew(known, pattern, wantedNanos)) {
        return known;
      }
      if (failed && nanos.getAsLong() - failedNanos < PAUSE_NANOS) {
        return null;
      }
      answer = ask();
      failed = false;
      return answer;
    } catch (Exception away) {
      if (away instanceof InterruptedException) { // thrown by Spark's connector, undeclared
        Thread.currentThread().interrupt();
      }
      failed = true;
      failedNanos = nanos.getAsLong();
      disconnect();
      return null;
    } finally {
      asking.unlock();
    }
  }

  private static boolean isNew(Answer known, String pattern, long wantedNanos) {
    return known != null
        && known.patterns.contains(pattern)
        && wantedNanos - known.askedNanos < AGE_NANOS;
  }

  private Answer ask() {
    Set<String> patterns = wanted();
    if (connector == null || !connected.equals(patterns)) {
      disconnect();
      connector = opening.open("(?:" + String.join(")|(?:", patterns) + ")");
      connected = patterns;
    }
    long asked = nanos.getAsLong();
    Offset ends =
        ((SupportsAdmissionControl) connector)
            .latestOffset(connector.deserializeOffset("{}"), ReadLimit.allAvailable());
    Map<String, JsonNode> topics = KafkaStream.positions(ends);
    Answer before = answer;
    boolean same = before != null && before.topics.equals(topics);
    boolean named = before != null && before.names.equals(topics.keySet());
    return new Answer(
        same ? before.topics : topics, named ? before.names : topics.keySet(), patterns, asked);
  }

  /** What is made again takes secrets as they are then. */
  private void disconnect() {
    if (connector != null) {
      Connectors.stop(connector);
    }
    connector = null;
  }

  /** The topics of one pattern, for one stream. */
  private final class Share implements TopicEnds {
    private final String name;
    private final Pattern pattern;
    private Set<String> names;
    private List<String> mine = List.of();
    private Offset offset;
    private Map<String, JsonNode> positions;
    private Map<String, JsonNode> topics;
    private boolean stand;

    Share(String pattern) {
      this.name = pattern;
      this.pattern = Pattern.compile(pattern);
    }

    @Override
    public boolean standAt(Offset asked) {
      Answer known = answer(name);
      if (known == null) {
        return false;
      }
      if (!asked.equals(offset)) {
        offset = asked;
        positions = KafkaStream.positions(asked);
      } else if (known.topics == topics) {
        return stand;
      }
      if (known.names != names) {
        names = known.names;
        mine = names.stream().filter(each -> pattern.matcher(each).find()).toList();
      }
      topics = known.topics;
      stand =
          mine.size() == positions.size()
              && mine.stream().allMatch(each -> topics.get(each).equals(positions.get(each)));
      return stand;
    }

    @Override
    public void close() {
      leave(name);
    }
  }
}
