package dev.joinery.kernel.door;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.joinery.kernel.door.OneAfterAnother.Reader;
import dev.joinery.kernel.egress.Stage;
import dev.joinery.kernel.files.FilesSource;
import dev.joinery.kernel.format.Formats;
import dev.joinery.kernel.ingress.Ingress;
import dev.joinery.kernel.message.Counters;
import dev.joinery.kernel.program.Compiler;
import dev.joinery.kernel.program.Program;
import dev.joinery.kernel.program.ProgramReader;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.Tuple2;
import scala.runtime.BoxedUnit;

/**
 * Reads the beginning of change files in a JVM of its own, which opens no Spark session unless it is to
 * compile expressions: the records of
 * {@link FilesSource}, the decoding of {@link Ingress}, the lines of {@link Stage}.
 */
public final class FileFeed {
  private static final ObjectMapper JSON = new ObjectMapper();
  /** Topics are read by as many threads at once. */
  private static final int THREADS = 2;

  private final JsonNode request;
  private final long timestamp = ChronoUnit.MICROS.between(Instant.EPOCH, Instant.now());
  private final long[] taken;
  private final List<Map<Long, String>> files = new ArrayList<>();

  private FileFeed(JsonNode request) {
    this.request = request;
    this.taken = new long[request.get("read").size()];
    for (int topic = 0; topic < taken.length; topic++) {
      files.add(new TreeMap<>());
    }
  }

  /**
   * Reads a request from standard input: {@code program} and {@code relations} (as {@link Reading}
   * has them, as texts), {@code sources} and {@code topics} by relation, {@code folders}: a list of
   * {@code {path, topics, sizes}}, sizes in bytes of the files that are not read whole, by topic
   * and name, {@code records}: null, or a file with further records, one JSON object
   * a line: {@code {topic, partition, offset, logged, key, value}}, bytes in Base64; {@code read}:
   * for each topic of all folders, then for each further one, its relations, {@code maxRecords} a
   * topic of a folder, {@code maxRecordBytes}, {@code sealing} as {@link SealingText} reads it, and the {@code output}
   * folder.
   *
   * <p>Writes {@code {"counts": as of Kernel.stage, "left": records not taken, a topic, "files": of
   * each topic the names of its files by the first part of places}} to standard output.
   */
  public static void main(String[] arguments) throws IOException {
    System.out.println(new FileFeed(JSON.readTree(System.in)).run());
    SparkSession.getDefaultSession().foreach(FileFeed::stop);
  }

  /** A session, which only expressions over personal columns need. */
  private static synchronized SparkSession session() {
    return SparkSession.builder()
        .master("local[1]")
        .config("spark.ui.enabled", false)
        .config("spark.driver.host", "localhost")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .getOrCreate();
  }

  private static BoxedUnit stop(SparkSession session) {
    session.stop();
    return BoxedUnit.UNIT;
  }

  private ObjectNode run() throws IOException {
    Program program = ProgramReader.read(request.get("program").asText());
    Stage stage = new Stage(List.of(), program.relations(), request.get("output").asText());
    stage.open();
    Queue<Reader> readers = readers();
    List<Callable<Stage.Part>> threads = new ArrayList<>();
    for (int part = 0; part < Math.min(THREADS, Math.max(1, readers.size())); part++) {
      int number = part;
      threads.add(() -> stage.write(number, number, messages(decoded(program, readers))));
    }
    Counters counts = stage.keep(allOf(threads));
    stage.clear();
    ObjectNode told = JSON.createObjectNode();
    told.set("counts", JSON.readTree(counts.toJson()));
    for (long each : taken) {
      told.withArray("left").add(Math.max(0, each - request.get("maxRecords").asLong()));
    }
    told.set("files", JSON.valueToTree(files));
    return told;
  }

  /** What readers that other threads take from, too, tell. */
  private Iterator<Tuple2<byte[], byte[]>> decoded(Program program, Queue<Reader> readers)
      throws IOException {
    Ingress ingress =
        new Ingress(
                program,
                Formats.of(request.get("relations").asText()),
                texts(request.get("sources")),
                texts(request.get("topics")),
                JSON.treeToValue(request.get("read"), int[][].class))
            .sealedBy(SealingText.read(request.get("sealing").asText(), program, Compiler.opening(FileFeed::session)))
            .sendingTo(origin -> new ChangeFeed.Changes(program));
    return ingress.call(new OneAfterAnother(readers));
  }

  private static <T> List<T> allOf(List<Callable<T>> threads) throws IOException {
    ExecutorService pool = Executors.newFixedThreadPool(threads.size());
    try {
      List<T> all = new ArrayList<>();
      for (Future<T> each : pool.invokeAll(threads)) {
        all.add(each.get());
      }
      return all;
    } catch (ExecutionException | InterruptedException error) {
      throw new IOException(error.getCause() == null ? error : error.getCause());
    } finally {
      pool.shutdownNow();
    }
  }

  /** What reads all folders, the first records of each topic, then those that were handed over. */
  private Queue<Reader> readers() throws IOException {
    Queue<Reader> readers = new ConcurrentLinkedQueue<>();
    int topic = 0;
    for (JsonNode folder : request.get("folders")) {
      for (JsonNode name : folder.get("topics")) {
        addReaders(folder, name, topic++, readers);
      }
    }
    if (request.hasNonNull("records")) {
      Path file = Path.of(request.get("records").asText());
      readers.add(new HandedOver(this, Files.newBufferedReader(file)));
    }
    return readers;
  }

  private Row handedOver(JsonNode record) throws IOException {
    byte[] key = record.get("key").isNull() ? null : record.get("key").binaryValue();
    byte[] value = record.get("value").isNull() ? null : record.get("value").binaryValue();
    long bytes = (key == null ? 0 : key.length) + (value == null ? 0 : value.length);
    boolean large = bytes > request.get("maxRecordBytes").asLong();
    return RowFactory.create(
        record.get("topic").asInt(),
        record.get("partition").asLong(),
        record.get("offset").asLong(),
        null,
        key,
        value,
        large ? "too_large" : null,
        timestamp,
        null,
        record.get("logged").asLong());
  }

  private void addReaders(JsonNode folder, JsonNode name, int topic, Queue<Reader> readers)
      throws IOException {
    Map<String, String> options =
        Map.of(
            "path", folder.get("path").asText(),
            "topics", JSON.createArrayNode().add(name).toString(),
            "sizes", folder.get("sizes").toString(),
            "maxRecordBytes", request.get("maxRecordBytes").asText(),
            "partitions", "1");
    SupportsRead table = (SupportsRead) new FilesSource().getTable(null, null, options);
    Batch batch = table.newScanBuilder(new CaseInsensitiveStringMap(options)).build().toBatch();
    PartitionReaderFactory factory = batch.createReaderFactory();
    for (InputPartition partition : batch.planInputPartitions()) {
      readers.add(new InFiles(this, factory.createReader(partition), topic));
    }
  }

  /** The record of a row; null where more were taken of its topic than were asked for. */
  private Row taken(InternalRow row, int topic) {
    if (taken[topic]++ >= request.get("maxRecords").asLong()) {
      return null;
    }
    files.get(topic).computeIfAbsent(row.getLong(1), each -> row.getUTF8String(3).toString());
    return record(row, topic);
  }

  /** A record as {@link Ingress#COLUMNS} has it; the reader's own row is valid until its next. */
  private Row record(InternalRow row, int topic) {
    return RowFactory.create(
        topic,
        row.getLong(1),
        row.getLong(2),
        row.getUTF8String(3).toString().getBytes(StandardCharsets.UTF_8),
        row.isNullAt(4) ? null : row.getBinary(4),
        row.isNullAt(5) ? null : row.getBinary(5),
        row.isNullAt(6) ? null : row.getUTF8String(6).toString(),
        timestamp,
        null,
        null);
  }

  private static Iterator<InternalRow> messages(Iterator<Tuple2<byte[], byte[]>> sent) {
    return new Iterator<>() {
      @Override
      public boolean hasNext() {
        return sent.hasNext();
      }

      @Override
      public InternalRow next() {
        return new GenericInternalRow(new Object[] {sent.next()._1()});
      }
    };
  }

  private static String[] texts(JsonNode list) throws IOException {
    return JSON.treeToValue(list, String[].class);
  }

  /** Reads the files of a topic, which has a number. */
  private record InFiles(FileFeed feed, PartitionReader<InternalRow> reader, int topic)
      implements Reader {
    @Override
    public Row read() throws IOException {
      while (reader.next()) {
        Row taken = feed.taken(reader.get(), topic);
        if (taken != null) {
          return taken;
        }
      }
      return null;
    }

    @Override
    public void close() throws IOException {
      reader.close();
    }
  }

  /** Reads the lines of a file with records. */
  private record HandedOver(FileFeed feed, BufferedReader lines) implements Reader {
    @Override
    public Row read() throws IOException {
      String line = lines.readLine();
      return line == null ? null : feed.handedOver(JSON.readTree(line));
    }

    @Override
    public void close() throws IOException {
      lines.close();
    }
  }
}
