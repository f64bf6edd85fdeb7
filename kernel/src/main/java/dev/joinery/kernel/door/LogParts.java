package dev.joinery.kernel.door;

import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.joinery.kernel.files.TopicFiles;
import dev.joinery.kernel.format.Formats;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;

/** The parts of some logs, read side by side; remembers where each of their changes stands. */
final class LogParts implements LogOrder.Places {
  private static final int THREADS = 2;
  private static final TypeReference<Map<String, String>> PROPERTIES = new TypeReference<>() {};

  private final JsonNode request;
  private final SoughtColumns[] columns;
  private final int[][] relationsOf;
  private final List<LogPart> parts = new ArrayList<>();
  private final List<List<TopicPart>> inKafka = new ArrayList<>();
  private final List<Map<Long, String>> files = new ArrayList<>();
  private final long[] records;
  private final long[] left;
  private final long[] dead;
  private final long[] ignored;

  /** By relation, the number of the first change of each part, and behind them that of the next. */
  private int[][] firsts;

  private int lastPart;

  /** {@code relationsOf}: by topic, what its records tell of. */
  LogParts(JsonNode request, SoughtColumns[] columns, int[][] relationsOf) {
    this.request = request;
    this.columns = columns;
    this.relationsOf = relationsOf;
    records = new long[relationsOf.length];
    left = new long[relationsOf.length];
    dead = new long[relationsOf.length];
    ignored = new long[columns.length];
    IntStream.range(0, relationsOf.length).forEach(each -> files.add(new TreeMap<>()));
  }

  /** Reads all that a request names; see {@link LogSearch#main}. */
  void read() throws IOException {
    int topic = 0;
    for (JsonNode folder : request.get("folders")) {
      for (JsonNode name : folder.get("topics")) {
        TopicFiles topicFiles =
            new TopicFiles(options(folder, name), request.get("partBytes").asLong());
        for (TopicFiles.Part each : topicFiles.parts()) {
          parts.add(new FilePart(topic, columns, each));
        }
        topic++;
      }
    }
    for (JsonNode brokers : request.get("brokers")) {
      for (JsonNode named : brokers.get("topics")) {
        addParts(topic++, brokers.get("properties"), named);
      }
    }
    readParts();
    settle();
  }

  private void addParts(int topic, JsonNode properties, JsonNode named) throws IOException {
    var told = LogSearch.JSON.convertValue(properties, PROPERTIES);
    int most = request.get("maxRecordBytes").asInt();
    String name = named.get("name").asText();
    String again = named.get("again").asText();
    var own = new TopicPart.Topic(topic, name, told, most);
    var back = new TopicPart.Topic(topic, again, told, most);
    List<TopicPart> all = new ArrayList<>();
    all.addAll(TopicPart.of(own, columns, named.get("partitions"), false));
    all.addAll(TopicPart.of(back, columns, named.get("partitionsAgain"), true));
    parts.addAll(all);
    inKafka.add(all);
  }

  /**
   * Says how many records were read and how many were not, how many at least are dead letters, and
   * of which files they are, by topic; and how many updates and deletes at least were ignored, by
   * relation.
   */
  ObjectNode told() {
    ObjectNode told = LogSearch.JSON.createObjectNode();
    told.set("read", LogSearch.JSON.valueToTree(records));
    told.set("left", LogSearch.JSON.valueToTree(left));
    told.set("dead", LogSearch.JSON.valueToTree(dead));
    told.set("ignored", LogSearch.JSON.valueToTree(ignored));
    told.set("files", LogSearch.JSON.valueToTree(files));
    return told;
  }

  private Map<String, String> options(JsonNode folder, JsonNode name) {
    return Map.of(
        "path", folder.get("path").asText(),
        "topics", LogSearch.JSON.createArrayNode().add(name).toString(),
        "sizes", folder.get("sizes").toString(),
        "maxRecordBytes", request.get("maxRecordBytes").asText());
  }

  private void readParts() throws IOException {
    AtomicInteger next = new AtomicInteger();
    ExecutorService pool = Executors.newFixedThreadPool(THREADS);
    try {
      List<Future<?>> threads = new ArrayList<>();
      for (int i = 0; i < THREADS; i++) {
        Path spool = Path.of(request.get("spool").asText() + "." + i);
        threads.add(
            pool.submit(
                () -> {
                  readSome(next, spool);
                  return null;
                }));
      }
      for (Future<?> each : threads) {
        each.get();
      }
    } catch (ExecutionException | InterruptedException error) {
      throw new IOException(error.getCause() == null ? error : error.getCause());
    } finally {
      pool.shutdownNow();
    }
  }

  private void readSome(AtomicInteger next, Path spool) throws IOException {
    var narrow = Formats.of(request.get("narrow").asText());
    var whole = Formats.of(request.get("relations").asText());
    try (PartReading with = new PartReading(relationsOf, narrow, whole, spool)) {
      for (int at = next.getAndIncrement();
          at < parts.size() && !Thread.currentThread().isInterrupted();
          at = next.getAndIncrement()) {
        LogPart part = parts.get(at);
        part.read(with, readBefore(at) >= most());
        part.done = true;
      }
    }
  }

  private long most() {
    return request.get("maxRecords").asLong();
  }

  /** How many records of its topic stand before a part, as far as that is known. */
  private long readBefore(int part) {
    long records = 0;
    for (int at = part - 1; at >= 0 && parts.get(at).topic == parts.get(part).topic; at--) {
      records += parts.get(at).done ? parts.get(at).records : 0;
    }
    return records;
  }

  /** Numbers lines and changes, and leaves out what is more than is to be read of a topic. */
  private void settle() {
    firsts = new int[columns.length][parts.size() + 1];
    LogPart before = null;
    for (LogPart part : parts) {
      part.after(before);
      before = part;
      part.take(most() - records[part.topic]);
      records[part.topic] += part.taken;
      left[part.topic] += part.records - part.taken;
      if (part.taken == part.records) {
        dead[part.topic] += part.changes.dead;
        Arrays.setAll(ignored, each -> ignored[each] + part.changes.ignored[each]);
      }
      if (part.taken > 0 && part instanceof FilePart file) {
        files.get(part.topic).putIfAbsent(file.part.label(), file.part.name());
      }
    }
    inKafka.forEach(TopicPart::settleTimes);
    int number = 0;
    for (int relation = 0; relation < columns.length; relation++) {
      for (int at = 0; at < parts.size(); at++) {
        firsts[relation][at] = number;
        number += parts.get(at).changes.relations[relation].size();
      }
      firsts[relation][parts.size()] = number;
    }
  }

  @Override
  public int relation(int change) {
    int relation = 0;
    while (change >= firsts[relation][parts.size()]) {
      relation++;
    }
    return relation;
  }

  /** The part of a change; most are asked for one after the other. */
  int part(int change) {
    int[] of = firsts[relation(change)];
    if (of[lastPart] <= change && change < of[lastPart + 1]) {
      return lastPart;
    }
    int low = 0;
    int high = parts.size() - 1;
    while (low < high) {
      int middle = (low + high + 1) >>> 1;
      if (of[middle] <= change) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    lastPart = low;
    return low;
  }

  /** The changes of its relation in its part, and which of them it is. */
  ChangeIndex.OfRelation of(int change) {
    return parts.get(part(change)).changes.relations[relation(change)];
  }

  int at(int change) {
    return change - firsts[relation(change)][part(change)];
  }

  int record(int change) {
    return of(change).record(at(change));
  }

  /** The number of the first change of a relation in a part. */
  int first(int relation, int part) {
    return firsts[relation][part];
  }

  /** The changes of a relation, in the order of its parts. */
  IntStream changesOfRelation(int relation) {
    return IntStream.range(firsts[relation][0], firsts[relation][parts.size()]);
  }

  int size() {
    return parts.size();
  }

  LogPart get(int part) {
    return parts.get(part);
  }

  /** Takes when files were written, in microseconds, by topic and the first part of places. */
  void written(JsonNode times) {
    for (LogPart part : parts) {
      if (part instanceof FilePart file) {
        JsonNode time = times.get(part.topic).path(Long.toString(file.part.label()));
        file.writtenAt = time.asLong();
      }
    }
  }

  @Override
  public List<int[]> logs() {
    List<int[]> logs = new ArrayList<>();
    for (int topic = 0; topic < relationsOf.length; topic++) {
      for (IntStream.Builder each : changesOf(topic).values()) {
        logs.add(inLogOrder(each.build().toArray()));
      }
    }
    return logs;
  }

  /** The changes of a topic, by its logs. */
  private Map<Long, IntStream.Builder> changesOf(int topic) {
    Map<Long, IntStream.Builder> logs = new TreeMap<>();
    for (int relation : relationsOf[topic]) {
      for (int at = 0; at < parts.size(); at++) {
        if (parts.get(at).topic == topic) {
          addChanges(relation, at, logs);
        }
      }
    }
    return logs;
  }

  private void addChanges(int relation, int part, Map<Long, IntStream.Builder> logs) {
    LogPart of = parts.get(part);
    int first = firsts[relation][part];
    long log = 0;
    IntStream.Builder changes = null;
    for (int i = 0; i < firsts[relation][part + 1] - first; i++) {
      long its = of.log(of.changes.relations[relation].record(i));
      if (changes == null || its != log) {
        log = its;
        changes = logs.computeIfAbsent(log, each -> IntStream.builder());
      }
      changes.add(first + i);
    }
  }

  /** Records that are put back, and relations that share a topic, are read one after the other. */
  private int[] inLogOrder(int[] changes) {
    for (int i = 1; i < changes.length; i++) {
      if (compare(changes[i - 1], changes[i]) > 0) {
        List<Integer> sorted = new ArrayList<>(IntStream.of(changes).boxed().toList());
        Collections.sort(sorted, this::compare);
        return sorted.stream().mapToInt(each -> each).toArray();
      }
    }
    return changes;
  }

  private int compare(int one, int other) {
    int byMajor = Long.compare(major(one), major(other));
    int byMinor = byMajor != 0 ? byMajor : Long.compare(minor(one), minor(other));
    return byMinor != 0 ? byMinor : Integer.compare(relation(one), relation(other));
  }

  @Override
  public long major(int change) {
    return parts.get(part(change)).major(record(change));
  }

  @Override
  public long minor(int change) {
    return parts.get(part(change)).minor(record(change));
  }

  @Override
  public boolean isOf(int change, LogOrder.Moment record) {
    LogPart part = parts.get(part(change));
    return part.topic == record.topic() && part.isOf(record(change), record.major());
  }

  @Override
  public long position(int change) {
    return of(change).positions.get(at(change));
  }

  @Override
  public long written(int change) {
    return parts.get(part(change)).written(record(change));
  }
}
