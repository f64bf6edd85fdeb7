package dev.joinery.kernel.door;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.catalyst.InternalRow;

/** Records of a partition of a topic in Kafka. */
final class TopicPart extends LogPart {
  /**
   * A topic in Kafka.
   *
   * @param number among all topics
   * @param properties of Kafka's client
   */
  record Topic(int number, String name, Map<String, String> properties, int maxRecordBytes) {}

  /** How many offsets are read at a time; a client that goes on elsewhere has fetched in vain. */
  private static final long OFFSETS = 100_000;

  private final Topic of;
  private final int partition;
  private final long from;
  private final long to;
  private final Longs minors = new Longs();
  private final Longs logged = new Longs();

  /** Where the spool has the records; of one that is too large, nothing is kept. */
  private final Longs kept = new Longs();

  /** By record, its partition at first; null where none was put back. */
  private final Longs majors;

  /** When the records were taken at first. */
  private Longs written = logged;

  private RecordSpool spool;

  private TopicPart(
      Topic of, SoughtColumns[] columns, int partition, long from, long to, boolean back) {
    super(of.number, columns);
    this.of = of;
    this.partition = partition;
    this.from = from;
    this.to = to;
    majors = back ? new Longs() : null;
  }

  /**
   * Returns the parts of a topic, its partitions side by side.
   *
   * @param partitions the number of each, its first offset and its end
   * @param back whether the topic has records of another one that were put back
   */
  static List<TopicPart> of(
      Topic topic, SoughtColumns[] columns, JsonNode partitions, boolean back) {
    List<TopicPart> parts = new ArrayList<>();
    boolean more = true;
    for (long skipped = 0; more; skipped += OFFSETS) {
      more = false;
      for (JsonNode each : partitions) {
        long from = each.get(1).asLong() + skipped;
        long end = each.get(2).asLong();
        if (from < end) {
          long to = Math.min(end, from + OFFSETS);
          parts.add(new TopicPart(topic, columns, each.get(0).asInt(), from, to, back));
          more = true;
        }
      }
    }
    return parts;
  }

  @Override
  void read(PartReading with, boolean counting) throws IOException {
    spool = with.spool();
    with.topics(of.properties)
        .read(
            of.name,
            partition,
            from,
            to,
            (offset, loggedMillis, key, value) -> {
              if (!counting) {
                take(with, offset, Math.max(0, loggedMillis) * 1000, key, value);
              }
              records++;
            });
    minors.trim();
    logged.trim();
    kept.trim();
    changes.trim();
  }

  private void take(PartReading with, long offset, long loggedAt, byte[] key, byte[] value)
      throws IOException {
    byte[] own = majors == null ? key : atFirst(offset, key);
    if (majors == null) {
      minors.add(offset);
    }
    logged.add(loggedAt);
    if ((long) length(own) + length(value) <= of.maxRecordBytes) {
      kept.add(spool.put(own, value));
      with.take(this, loggedAt, own, value);
    } else {
      kept.add(0);
      with.refuse(this);
    }
  }

  private static int length(byte[] bytes) {
    return bytes == null ? 0 : bytes.length;
  }

  /** Notes where a record that was put back stood at first, and returns its own key. */
  private byte[] atFirst(long offset, byte[] key) {
    ReplayKey at = ReplayKey.read(key);
    majors.add(at == null ? partition : at.partition());
    minors.add(at == null ? offset : at.offset());
    return at == null ? key : at.own();
  }

  /** Records that were put back count as if they had come when they stood there first. */
  static void settleTimes(List<TopicPart> ofTopic) {
    Map<List<Long>, Long> first = new HashMap<>();
    for (TopicPart part : ofTopic) {
      if (part.majors != null) {
        part.written = new Longs();
        for (int i = 0; i < part.logged.size(); i++) {
          List<Long> place = List.of(part.major(i), part.minor(i));
          long time = part.logged.get(i);
          part.written.add(first.computeIfAbsent(place, each -> timeOf(ofTopic, each, time)));
        }
      }
    }
  }

  private static long timeOf(List<TopicPart> ofTopic, List<Long> place, long otherwise) {
    for (TopicPart part : ofTopic) {
      if (part.majors == null && part.partition == place.get(0)) {
        int at = part.minors.find(place.get(1));
        if (at >= 0) {
          return part.logged.get(at);
        }
      }
    }
    return otherwise;
  }

  @Override
  long log(int record) {
    return major(record);
  }

  @Override
  boolean isOf(int record, long partitionAsked) {
    return major(record) == partitionAsked;
  }

  @Override
  long major(int record) {
    return majors == null ? partition : majors.get(record);
  }

  @Override
  long minor(int record) {
    return minors.get(record);
  }

  @Override
  long written(int record) {
    return written.get(record);
  }

  @Override
  Row again(int record, Iterator<InternalRow> lines, long timestamp) throws IOException {
    RecordSpool.Kept read = spool.get(kept.get(record));
    return RowFactory.create(
        topic,
        major(record),
        minor(record),
        null,
        read.key(),
        read.value(),
        null,
        timestamp,
        null,
        logged.get(record));
  }

  /**
   * The key of a record that was put back, as {@code dead_letters/replay_key.py} writes it: its
   * partition and its offset in digits, whether it had a key, and that key.
   */
  private record ReplayKey(long partition, long offset, byte[] own) {
    private static final int PARTITION = 10;
    private static final int OFFSET = 29;
    private static final int HEAD = 30;

    /** Null where the key is none. */
    static ReplayKey read(byte[] key) {
      if (key == null || key.length < OFFSET || !digits(key)) {
        return null;
      }
      boolean had = key.length >= HEAD && key[OFFSET] == 'k';
      byte[] own = had ? Arrays.copyOfRange(key, HEAD, key.length) : null;
      return new ReplayKey(number(key, 0, PARTITION), number(key, PARTITION, OFFSET), own);
    }

    private static boolean digits(byte[] key) {
      for (int i = 0; i < OFFSET; i++) {
        if (key[i] < '0' || key[i] > '9') {
          return false;
        }
      }
      return true;
    }

    private static long number(byte[] digits, int from, int to) {
      long number = 0;
      for (int i = from; i < to; i++) {
        number = number * 10 + digits[i] - '0';
      }
      return number;
    }
  }
}
