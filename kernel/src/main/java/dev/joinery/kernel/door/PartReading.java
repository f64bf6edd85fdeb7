package dev.joinery.kernel.door;

import dev.joinery.kernel.format.Format;
import dev.joinery.kernel.kafka.TopicReader;
import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;

/** What one thread reads parts with. */
final class PartReading implements Closeable {
  private final int[][] relationsOf;
  private final Format[] narrow;
  private final Format[] whole;
  private final Path spoolFile;
  private final Map<Map<String, String>, TopicReader> readers = new HashMap<>();
  private RecordSpool spool;

  /**
   * @param relationsOf by topic, what its records tell of
   * @param narrow decodes what is sought
   * @param whole decodes all
   * @param spoolFile keeps records of topics
   */
  PartReading(int[][] relationsOf, Format[] narrow, Format[] whole, Path spoolFile) {
    this.relationsOf = relationsOf;
    this.narrow = narrow;
    this.whole = whole;
    this.spoolFile = spoolFile;
  }

  /** Takes the next record of a part. */
  void take(LogPart part, long logged, byte[] key, byte[] value) {
    for (int relation : relationsOf[part.topic]) {
      narrow[relation].loggedAt(logged);
      whole[relation].loggedAt(logged);
      part.changes.take(relation, part.records, narrow[relation], whole[relation], key, value);
    }
  }

  /** The next record of a part is a dead letter, whatever it tells. */
  void refuse(LogPart part) {
    part.changes.dead += relationsOf[part.topic].length;
  }

  /** Reads topics of brokers that are reached by some properties. */
  TopicReader topics(Map<String, String> properties) {
    return readers.computeIfAbsent(properties, TopicReader::new);
  }

  RecordSpool spool() throws IOException {
    if (spool == null) {
      spool = new RecordSpool(spoolFile);
    }
    return spool;
  }

  /** Disconnects; what the spool keeps can be read then. */
  @Override
  public void close() throws IOException {
    // A reference to the method would load Kafka's client, which who reads files does without.
    for (TopicReader each : readers.values()) {
      each.close();
    }
    if (spool != null) {
      spool.flush();
    }
  }
}
