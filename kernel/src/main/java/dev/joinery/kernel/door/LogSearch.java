package dev.joinery.kernel.door;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
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
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.function.IntPredicate;
import java.util.stream.IntStream;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import scala.Tuple2;

/**
 * Finds changes in change files and topics by what they tell in some columns, in a JVM of its own.
 * All records are read once, and of each only these columns and its position; what was found is
 * decoded again, as a whole.
 */
public final class LogSearch {
  static final ObjectMapper JSON = new ObjectMapper();

  private final JsonNode request;
  private final Program program;
  private final SoughtColumns[] columns;
  private final int[][] relationsOf;
  private final LogParts parts;
  private final Ingress ingress;
  private final ChangeLines changeLines;
  private final long timestamp = ChronoUnit.MICROS.between(Instant.EPOCH, Instant.now());

  /** By number of a change, its line; empty where the full decoding tells none. */
  private final Map<Integer, byte[]> lines = new HashMap<>();

  private LogSearch(JsonNode request) throws IOException {
    this.request = request;
    program = ProgramReader.read(request.get("program").asText());
    relationsOf = JSON.treeToValue(request.get("read"), int[][].class);
    JsonNode narrow = JSON.readTree(request.get("narrow").asText());
    JsonNode whole = JSON.readTree(request.get("relations").asText());
    columns = new SoughtColumns[narrow.size()];
    Arrays.setAll(
        columns,
        each ->
            new SoughtColumns(
                narrow.get(each),
                whole.get(each),
                program.relations().get(each).insertsOnly()));
    parts = new LogParts(request, columns, relationsOf);
    ingress = ingress();
    changeLines = new ChangeLines(program.relations());
  }

  /** What decodes records as a whole. */
  private Ingress ingress() throws IOException {
    return new Ingress(
            program,
            Formats.of(request.get("relations").asText()),
            JSON.treeToValue(request.get("sources"), String[].class),
            JSON.treeToValue(request.get("topics"), String[].class),
            relationsOf)
        .sendingTo(origin -> new ChangeFeed.Changes(program));
  }

  /**
   * Reads a request from the first line of standard input: as that of {@link FileFeed}, with {@code
   * narrow}: relations as {@code relations} has them, with the columns that are sought, {@code
   * partBytes} of files, which one thread reads at a time, {@code brokers}: a list of {@code
   * {properties, topics}}, of Kafka's client and of topics each {@code {name, partitions, again,
   * partitionsAgain}}: the topic, of each partition its number, its first offset and its end, and
   * the topic that puts records of it back, with the same; and {@code spool}, how files begin that
   * may be written. Answers with {@code {"read", "left", "dead",
   * "ignored", "files"}}: the records that were read and those that were not, how many at least are dead
   * letters, and the files by the first part of places, all by topic. Then it answers questions, a
   * line each:
   *
   * <ul>
   *   <li>{@code {"relation", "columns", "rows"}}, and behind it so many lines, each an object of
   *       these columns: the numbers of the changes that have such values, as ints
   *   <li>{@code {"first": relation, "most": count}}: the numbers of its first changes, as ints
   *   <li>{@code {"changes": [number]}}: the line of each, as {@link ChangeLines} writes it; an empty
   *       one where there is none
   *   <li>{@code {"order": [number], "written": [{label: microseconds}], "placed"}}: the numbers as
   *       ints, in order; in front 1 where positions decided, else 0. Positions may where {@code
   *       placed} is true. With {@code "position"} or {@code "time"}, only what is up to that where
   *       such decided; with {@code "record": [topic, major, minor]} only what is up to that record.
   * </ul>
   *
   * <p>Each answer has its length in front, as an int.
   */
  public static void main(String[] arguments) throws IOException {
    InputStream in = new BufferedInputStream(System.in);
    DataOutputStream out = new DataOutputStream(System.out);
    LogSearch search = new LogSearch(JSON.readTree(line(in)));
    search.parts.read();
    answer(out, JSON.writeValueAsBytes(search.parts.told()));
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
    if (asked.has("first")) {
      IntStream all = parts.changesOfRelation(asked.get("first").asInt());
      return ints(all.limit(asked.get("most").asInt()).toArray());
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
          found.add(parts.first(relation, at) + i);
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

  private void decode(int[] changes) throws IOException {
    TreeSet<Found> records = new TreeSet<>();
    for (int each : changes) {
      if (!lines.containsKey(each)) {
        records.add(new Found(parts.part(each), parts.record(each)));
      }
    }
    Map<Found, List<List<byte[]>>> told = told(List.copyOf(records));
    for (int each : changes) {
      lines.computeIfAbsent(each, number -> lineOf(number, told));
    }
  }

  private byte[] lineOf(int change, Map<Found, List<List<byte[]>>> told) {
    var byRelation = told.get(new Found(parts.part(change), parts.record(change)));
    List<byte[]> lines =
        byRelation == null ? List.of() : byRelation.get(parts.relation(change));
    int ordinal = parts.of(change).ordinal(parts.at(change));
    return ordinal < lines.size() ? lines.get(ordinal) : new byte[0];
  }

  /** Returns what records tell, by relation. */
  private Map<Found, List<List<byte[]>>> told(List<Found> records) throws IOException {
    Map<Found, List<List<byte[]>>> told = new HashMap<>();
    List<TopicFiles.Place> places = new ArrayList<>();
    for (Found each : records) {
      if (parts.get(each.part) instanceof FilePart file) {
        places.add(file.place(each.record));
      }
    }
    Records rows = new Records(records, TopicFiles.again(places));
    ByteSink line = new ByteSink(4096);
    for (Iterator<Tuple2<byte[], byte[]>> sent = ingress.call(rows); sent.hasNext(); ) {
      byte[] message = sent.next()._1();
      if (Message.kind(message) == Message.RAW) {
        RawChange change = RawChange.read(message);
        line.clear();
        changeLines.write(change, line);
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
    private final Iterator<InternalRow> lines;

    /** The record that was taken last. */
    private Found last;

    Records(List<Found> records, Iterator<InternalRow> lines) {
      this.records = records.iterator();
      this.lines = lines;
    }

    @Override
    public boolean hasNext() {
      // Files are closed when they are asked for more than there is.
      return lines.hasNext() | records.hasNext();
    }

    @Override
    public Row next() {
      last = records.next();
      try {
        return parts.get(last.part).again(last.record, lines, timestamp);
      } catch (IOException failure) {
        throw new UncheckedIOException(failure);
      }
    }
  }

  // The order of what was found.

  private byte[] inOrder(JsonNode asked) throws IOException {
    parts.written(asked.get("written"));
    LogOrder order = new LogOrder(parts, this::told);
    boolean byPosition = asked.get("placed").asBoolean() && order.isPlaced();
    List<Integer> found = IntStream.of(numbers(asked.get("order"))).boxed().toList();
    int[] ordered = order.ordered(found, byPosition, moment(asked, byPosition));
    int[] told = new int[ordered.length + 1];
    told[0] = byPosition ? 1 : 0;
    System.arraycopy(ordered, 0, told, 1, ordered.length);
    return ints(told);
  }

  private static LogOrder.Moment moment(JsonNode asked, boolean byPosition) {
    long key = asked.path(byPosition ? "position" : "time").asLong(Long.MAX_VALUE);
    JsonNode record = asked.path("record");
    return new LogOrder.Moment(
        key,
        record.path(0).asInt(-1),
        record.path(1).asLong(),
        record.path(2).asLong());
  }

  private IntPredicate told(int[] changes) {
    try {
      decode(changes);
    } catch (IOException failure) {
      throw new UncheckedIOException(failure);
    }
    return each -> lines.get(each).length > 0;
  }
}
