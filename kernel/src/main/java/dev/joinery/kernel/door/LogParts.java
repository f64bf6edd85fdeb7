package dev.joinery.kernel.door;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.joinery.kernel.files.TopicFiles;
import dev.joinery.kernel.format.Formats;
import java.io.IOException;
import java.util.ArrayList;
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

  private final JsonNode request;
  private final SoughtColumns[] columns;
  private final int[][] relationsOf;
  private final List<LogPart.OfFile> parts = new ArrayList<>();
  private final List<Map<Long, String>> files = new ArrayList<>();
  private final long[] records;
  private final long[] left;
  private final long[] dead;

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
          parts.add(new LogPart.OfFile(topic, columns, each));
        }
        topic++;
      }
    }
    readParts();
    settle();
  }

  /**
   * Says how many records were read and how many were not, how many at least are dead letters, and
   * of which files they are, by topic.
   */
  ObjectNode told() {
    ObjectNode told = LogSearch.JSON.createObjectNode();
    told.set("read", LogSearch.JSON.valueToTree(records));
    told.set("left", LogSearch.JSON.valueToTree(left));
    told.set("dead", LogSearch.JSON.valueToTree(dead));
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
        threads.add(
            pool.submit(
                () -> {
                  readSome(next);
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

  private void readSome(AtomicInteger next) throws IOException {
    var narrow = Formats.of(request.get("narrow").asText());
    var whole = Formats.of(request.get("relations").asText());
    for (int at = next.getAndIncrement();
        at < parts.size() && !Thread.currentThread().isInterrupted();
        at = next.getAndIncrement()) {
      LogPart.OfFile part = parts.get(at);
      var formats = new LogPart.Formats(relationsOf[part.topic], narrow, whole);
      part.read(formats, readBefore(at) >= most());
      part.done = true;
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
    long lines = 0;
    for (LogPart.OfFile part : parts) {
      lines = part.part.beginsFile() ? 0 : lines;
      part.linesBefore = lines;
      lines += part.lines;
      part.take(most() - records[part.topic]);
      records[part.topic] += part.taken;
      left[part.topic] += part.records - part.taken;
      dead[part.topic] += part.taken < part.records ? 0 : part.changes.dead;
      if (part.taken > 0) {
        files.get(part.topic).putIfAbsent(part.part.label(), part.part.name());
      }
    }
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

  LogPart.OfFile get(int part) {
    return parts.get(part);
  }

  /** Takes when files were written, in microseconds, by topic and the first part of places. */
  void written(JsonNode times) {
    for (LogPart.OfFile part : parts) {
      JsonNode time = times.get(part.topic).path(Long.toString(part.part.label()));
      part.writtenAt = time.asLong();
    }
  }

  @Override
  public List<int[]> logs() {
    List<int[]> logs = new ArrayList<>();
    for (int topic = 0; topic < relationsOf.length; topic++) {
      logs.add(inLogOrder(changesOf(topic)));
    }
    return logs;
  }

  private int[] changesOf(int topic) {
    IntStream.Builder all = IntStream.builder();
    for (int relation : relationsOf[topic]) {
      for (int at = 0; at < parts.size(); at++) {
        if (parts.get(at).topic == topic) {
          IntStream.range(firsts[relation][at], firsts[relation][at + 1]).forEach(all::add);
        }
      }
    }
    return all.build().toArray();
  }

  /** Files that put lines back, and relations that share a topic, are read one after the other. */
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
  public long position(int change) {
    return of(change).positions.get(at(change));
  }

  @Override
  public long written(int change) {
    return parts.get(part(change)).written(record(change));
  }
}
