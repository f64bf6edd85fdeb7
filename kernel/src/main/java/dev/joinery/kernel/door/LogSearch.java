package dev.joinery.kernel.door;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.joinery.kernel.egress.ChangeLines;
import dev.joinery.kernel.files.TopicFiles;
import dev.joinery.kernel.format.Formats;
import dev.joinery.kernel.ingress.Ingress;
import dev.joinery.kernel.message.Message;
import dev.joinery.kernel.message.RawChange;
import dev.joinery.kernel.program.Program;
import dev.joinery.kernel.program.ProgramReader;
import dev.joinery.kernel.render.ByteSink;
import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.catalyst.InternalRow;
import scala.Tuple2;

/**
 * Finds changes in change files by what they tell in some columns, in a JVM of its own. All records
 * are read once, and of each only these columns and its position; what was found is decoded again,
 * as a whole.
 */
public final class LogSearch {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final int THREADS = 2;

  private final JsonNode request;
  private final Program program;
  private final SoughtColumns[] columns;
  private final int[][] relationsOf;
  private final List<LogPart.OfFile> parts = new ArrayList<>();
  private final List<Map<Long, String>> files = new ArrayList<>();
  private final long timestamp = ChronoUnit.MICROS.between(Instant.EPOCH, Instant.now());

  /** By relation, the number of the first change of each part, and behind them that of the next. */
  private int[][] firsts;

  /** By number of a change, its line; empty where the full decoding tells none. */
  private final Map<Integer, byte[]> lines = new HashMap<>();

  private int lastPart;

  private LogSearch(JsonNode request) throws IOException {
    this.request = request;
    program = ProgramReader.read(request.get("program").asText());
    relationsOf = JSON.treeToValue(request.get("read"), int[][].class);
    JsonNode narrow = JSON.readTree(request.get("narrow").asText());
    JsonNode whole = JSON.readTree(request.get("relations").asText());
    columns = new SoughtColumns[narrow.size()];
    Arrays.setAll(columns, each -> new SoughtColumns(narrow.get(each), whole.get(each)));
  }

  /**
   * Reads a request from the first line of standard input: as that of {@link FileFeed}, with {@code
   * narrow}: relations as {@code relations} has them, with the columns that are sought, and {@code
   * partBytes}, which one thread reads at a time. Answers with
   * {@code {"read", "left", "files"}}: the records that were read and those that were not, and the
   * files by the first part of places, all by topic. Then it answers questions, a line each:
   *
   * <ul>
   *   <li>{@code {"relation", "columns", "rows"}}, and behind it so many lines, each an object of
   *       these columns: the numbers of the changes that have such values, as ints
   *   <li>{@code {"changes": [number]}}: the line of each, as {@link ChangeLines} writes it; an empty
   *       one where there is none
   *   <li>{@code {"order": [number], "written": [{label: microseconds}], "placed"}}: the numbers as
   *       ints, in order; in front 1 where positions decided, else 0. Positions may where {@code
   *       placed} is true.
   * </ul>
   *
   * <p>Each answer has its length in front, as an int.
   */
  public static void main(String[] arguments) throws IOException {
    InputStream in = new BufferedInputStream(System.in);
    DataOutputStream out = new DataOutputStream(System.out);
    LogSearch search = new LogSearch(JSON.readTree(line(in)));
    answer(out, search.readAll());
    for (byte[] line = line(in); line.length > 0; line = line(in)) {
      answer(out, search.answer(JSON.readTree(line), in));
    }
  }

  private static byte[] line(InputStream in) throws IOException {
    ByteArrayOutputStream line = new ByteArrayOutputStream();
    for (int next = in.read(); next >= 0 && next != '\n'; next = in.read()) {
      line.write(next);
    }
    return line.toByteArray();
  }

  private static void answer(DataOutputStream out, byte[] answer) throws IOException {
    out.writeInt(answer.length);
    out.write(answer);
    out.flush();
  }

  private byte[] answer(JsonNode asked, InputStream in) throws IOException {
    if (asked.has("relation")) {
      List<byte[]> rows = new ArrayList<>();
      for (int left = asked.get("rows").asInt(); left > 0; left--) {
        rows.add(line(in));
      }
      List<String> names = List.of(JSON.treeToValue(asked.get("columns"), String[].class));
      return ints(holding(asked.get("relation").asInt(), names, rows));
    }
    if (asked.has("changes")) {
      return linesOf(numbers(asked.get("changes")));
    }
    return inOrder(asked);
  }

  private static int[] numbers(JsonNode list) throws IOException {
    return JSON.treeToValue(list, int[].class);
  }

  private static byte[] ints(int[] numbers) {
    ByteBuffer bytes = ByteBuffer.allocate(4 * numbers.length).order(ByteOrder.nativeOrder());
    bytes.asIntBuffer().put(numbers);
    return bytes.array();
  }

  // What was read.

  private byte[] readAll() throws IOException {
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
    long[] records = new long[topic];
    long[] left = new long[topic];
    IntStream.range(0, topic).forEach(each -> files.add(new TreeMap<>()));
    settle(records, left);
    ObjectNode told = JSON.createObjectNode();
    told.set("read", JSON.valueToTree(records));
    told.set("left", JSON.valueToTree(left));
    told.set("files", JSON.valueToTree(files));
    return JSON.writeValueAsBytes(told);
  }

  private Map<String, String> options(JsonNode folder, JsonNode name) {
    return Map.of(
        "path", folder.get("path").asText(),
        "topics", JSON.createArrayNode().add(name).toString(),
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
    for (int at = next.getAndIncrement(); at < parts.size(); at = next.getAndIncrement()) {
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
  private void settle(long[] records, long[] left) {
    firsts = new int[columns.length][parts.size() + 1];
    long lines = 0;
    for (LogPart.OfFile part : parts) {
      lines = part.part.beginsFile() ? 0 : lines;
      part.linesBefore = lines;
      lines += part.lines;
      part.take(most() - records[part.topic]);
      records[part.topic] += part.taken;
      left[part.topic] += part.records - part.taken;
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

  // Changes by their numbers.

  private int relation(int change) {
    int relation = 0;
    while (change >= firsts[relation][parts.size()]) {
      relation++;
    }
    return relation;
  }

  /** The part of a change; most are asked for one after the other. */
  private int part(int change) {
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

  private int record(int change) {
    int relation = relation(change);
    int part = part(change);
    return parts.get(part).changes.relations[relation].record(change - firsts[relation][part]);
  }

  private int[] holding(int relation, List<String> names, List<byte[]> rows) {
    long[] asked = columns[relation].asked(names, rows);
    Arrays.sort(asked);
    int[] ordinals = columns[relation].ordinals(names);
    IntStream.Builder found = IntStream.builder();
    for (int at = 0; at < parts.size(); at++) {
      ChangeIndex.OfRelation of = parts.get(at).changes.relations[relation];
      for (int i = 0; i < of.size(); i++) {
        long hash = columns[relation].together(of.hashes, i, ordinals);
        if (SoughtColumns.isSome(hash) && has(asked, hash)) {
          found.add(firsts[relation][at] + i);
        }
      }
    }
    return found.build().toArray();
  }

  private static boolean has(long[] sorted, long hash) {
    return sorted.length == 1 ? sorted[0] == hash : Arrays.binarySearch(sorted, hash) >= 0;
  }

  // Full decoding.

  private byte[] linesOf(int[] changes) throws IOException {
    decode(changes);
    ByteSink all = new ByteSink(4096);
    for (int each : changes) {
      byte[] line = lines.get(each);
      if (line.length == 0) {
        all.append('\n');
      } else {
        all.append(line);
      }
    }
    return Arrays.copyOf(all.array(), all.size());
  }

  /** A record of a part; in the order of parts, and of the records of each. */
  private record Found(int part, int record) implements Comparable<Found> {
    @Override
    public int compareTo(Found other) {
      int byPart = Integer.compare(part, other.part);
      return byPart != 0 ? byPart : Integer.compare(record, other.record);
    }
  }

  private void decode(int... changes) throws IOException {
    TreeSet<Found> records = new TreeSet<>();
    for (int each : changes) {
      if (!lines.containsKey(each)) {
        records.add(new Found(part(each), record(each)));
      }
    }
    Map<Found, List<List<byte[]>>> told = told(List.copyOf(records));
    for (int each : changes) {
      lines.computeIfAbsent(each, number -> lineOf(number, told));
    }
  }

  private byte[] lineOf(int change, Map<Found, List<List<byte[]>>> told) {
    int relation = relation(change);
    int part = part(change);
    ChangeIndex.OfRelation of = parts.get(part).changes.relations[relation];
    int at = change - firsts[relation][part];
    List<List<byte[]>> byRelation = told.get(new Found(part, of.record(at)));
    List<byte[]> lines = byRelation == null ? List.of() : byRelation.get(relation);
    return of.ordinal(at) < lines.size() ? lines.get(of.ordinal(at)) : new byte[0];
  }

  /** Returns what records tell, by relation. */
  private Map<Found, List<List<byte[]>>> told(List<Found> records) throws IOException {
    Map<Found, List<List<byte[]>>> told = new HashMap<>();
    List<TopicFiles.Place> places =
        records.stream().map(each -> parts.get(each.part).place(each.record)).toList();
    Records rows = new Records(records, TopicFiles.again(places));
    Ingress ingress =
        new Ingress(
                program,
                Formats.of(request.get("relations").asText()),
                JSON.treeToValue(request.get("sources"), String[].class),
                JSON.treeToValue(request.get("topics"), String[].class),
                relationsOf)
            .sendingTo(origin -> new ChangeFeed.Changes(program));
    ChangeLines lines = new ChangeLines(program.relations());
    ByteSink line = new ByteSink(4096);
    for (Iterator<Tuple2<byte[], byte[]>> sent = ingress.call(rows); sent.hasNext(); ) {
      byte[] message = sent.next()._1();
      if (Message.kind(message) == Message.RAW) {
        RawChange change = RawChange.read(message);
        line.clear();
        lines.write(change, line);
        told.computeIfAbsent(rows.last, each -> empty())
            .get(change.relation())
            .add(Arrays.copyOf(line.array(), line.size()));
      }
    }
    return told;
  }

  private List<List<byte[]>> empty() {
    List<List<byte[]>> lists = new ArrayList<>();
    for (int i = 0; i < columns.length; i++) {
      lists.add(new ArrayList<>(1));
    }
    return lists;
  }

  /** Records as {@link Ingress} takes them; it sends what one tells before it takes the next. */
  private final class Records implements Iterator<Row> {
    private final Iterator<Found> records;
    private final Iterator<InternalRow> again;

    /** The record that was taken last. */
    private Found last;

    Records(List<Found> records, Iterator<InternalRow> again) {
      this.records = records.iterator();
      this.again = again;
    }

    @Override
    public boolean hasNext() {
      return again.hasNext();
    }

    @Override
    public Row next() {
      last = records.next();
      InternalRow row = again.next();
      LogPart.OfFile part = parts.get(last.part);
      return RowFactory.create(
          part.topic,
          part.major(last.record),
          part.minor(last.record),
          part.part.name().getBytes(StandardCharsets.UTF_8),
          row.isNullAt(4) ? null : row.getBinary(4),
          row.isNullAt(5) ? null : row.getBinary(5),
          row.isNullAt(6) ? null : row.getUTF8String(6).toString(),
          timestamp,
          null,
          null);
    }
  }

  // The order of what was found.

  private byte[] inOrder(JsonNode asked) throws IOException {
    for (LogPart.OfFile part : parts) {
      JsonNode written = asked.get("written").get(part.topic);
      part.writtenAt = written.path(Long.toString(part.part.label())).asLong();
    }
    LogOrder order = new LogOrder(new Places(), this::isTold);
    boolean byPosition = asked.get("placed").asBoolean() && order.isPlaced();
    List<Integer> found = IntStream.of(numbers(asked.get("order"))).boxed().toList();
    int[] ordered = order.ordered(found, byPosition);
    int[] told = new int[ordered.length + 1];
    told[0] = byPosition ? 1 : 0;
    System.arraycopy(ordered, 0, told, 1, ordered.length);
    return ints(told);
  }

  private boolean isTold(int change) {
    try {
      decode(change);
    } catch (IOException failure) {
      throw new java.io.UncheckedIOException(failure);
    }
    return lines.get(change).length > 0;
  }

  private final class Places implements LogOrder.Places {
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
      return parts.get(part(change)).major(LogSearch.this.record(change));
    }

    @Override
    public long minor(int change) {
      return parts.get(part(change)).minor(LogSearch.this.record(change));
    }

    @Override
    public int relation(int change) {
      return LogSearch.this.relation(change);
    }

    @Override
    public long position(int change) {
      int relation = relation(change);
      int part = part(change);
      int at = change - firsts[relation][part];
      return parts.get(part).changes.relations[relation].positions.get(at);
    }

    @Override
    public long written(int change) {
      return parts.get(part(change)).written(LogSearch.this.record(change));
    }
  }
}
