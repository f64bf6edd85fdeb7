package dev.joinery.kernel.door;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.joinery.kernel.bytes.Address;
import dev.joinery.kernel.bytes.BinaryRow;
import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.chain.HeldProgram;
import dev.joinery.kernel.chain.SharedProgram;
import dev.joinery.kernel.chain.CommittedLevel;
import dev.joinery.kernel.chain.StateMark;
import dev.joinery.kernel.chain.StateSizes;
import dev.joinery.kernel.ingress.KeyPrefix;
import dev.joinery.kernel.ingress.PendingRoots;
import dev.joinery.kernel.message.Message;
import dev.joinery.kernel.node.NodeContext;
import dev.joinery.kernel.program.CompiledProgram;
import dev.joinery.kernel.program.Compiler;
import dev.joinery.kernel.program.Program;
import dev.joinery.kernel.program.ProgramReader;
import dev.joinery.kernel.render.ByteSink;
import dev.joinery.kernel.render.JsonWriter;
import java.io.BufferedReader;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.types.StructType;

/**
 * Tells the documents that the state of a checkpoint gives, in a JVM of its own, beside whatever run
 * goes on: the nodes that send them show them, or are asked to send one again, and nothing of that is
 * kept.
 */
public final class CommittedDocuments implements AutoCloseable {
  private static final ObjectMapper JSON = new ObjectMapper();

  private static final String HERE = "127.0.0.1";

  /** Above all that was ever sent, so that a node sends whatever it has. */
  private static final long VERSION = Long.MAX_VALUE / 2;

  private final JsonNode request;
  private final Program program;
  private final HeldProgram shared;
  private final PendingRoots roots;
  private final DocumentRows rows;
  private final Map<CommittedLevel.Place, CommittedLevel> levels = new HashMap<>();

  private CommittedDocuments(JsonNode request) throws IOException {
    this.request = request;
    program = ProgramReader.read(request.get("program").asText());
    List<String> marks = List.of(JSON.treeToValue(request.get("marks"), String[].class));
    Compiler compiler = Compiler.opening(CommittedDocuments::session);
    CompiledProgram compiled = compiler.compile(program);
    shared = new HeldProgram(SharedProgram.of(compiled, StateMark.of(marks)));
    roots = new PendingRoots(program);
    rows =
        new DocumentRows(
            program,
            new NodeContext(compiled, () -> null),
            (address, parent, tracing) -> levelOf(address).trace(address, parent, tracing));
  }

  /** What resolves expressions, where a program has some; it runs nothing. */
  private static SparkSession session() {
    return (SparkSession)
        SparkSession.builder()
            .master("local[1]")
            .config("spark.driver.host", HERE)
            .config("spark.driver.bindAddress", HERE)
            .config("spark.ui.enabled", "false")
            .config("spark.sql.artifact.isolation.enabled", "false")
            .getOrCreate();
  }

  /**
   * Reads a request from the first line of standard input: {@code {"program", "marks", "state":
   * folder, "partitions", "version": the number of the next batch, "ids": {operator:
   * [[id]]} as the commit has them, "settings": {name: value} of state stores}}. Then it answers
   * questions, a line each: {@code {"product", "key": text of a JSON object}}. An answer has its
   * length in front, as an int: the dead letter that is told in place of the document, if any, a
   * line break, and the document's text, if there is one.
   *
   * <p>{@code {"product", "columns", "key", "sample"}} asks for all documents whose keys begin as
   * that key does, which has so many columns, or a sample of them; the answers to it are parts of
   * some lines each, and one of no length at the end ({@link DocumentLines}).
   *
   * <p>{@code {"rows": product, "columns", "key"}} asks for the rows of the document of a key; the
   * answer is their lines ({@link DocumentRows}), or an exclamation mark and which rows these are
   * that cannot be read.
   *
   * <p>{@code {"sizes": true}} asks how much each node keeps; the answer is {@link
   * StateSizes#counts}, as JSON.
   */
  public static void main(String[] arguments) throws IOException {
    BufferedReader in =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    DataOutputStream out = new DataOutputStream(System.out);
    System.setOut(System.err); // What a library prints is not an answer.
    try (CommittedDocuments documents = new CommittedDocuments(JSON.readTree(in.readLine()))) {
      for (String line = in.readLine(); line != null && !line.isEmpty(); line = in.readLine()) {
        JsonNode question = JSON.readTree(line);
        if (question.has("rows")) {
          write(documents.rows(question), out);
        } else if (question.has("sizes")) {
          write(JSON.writeValueAsBytes(documents.sizes()), out);
        } else if (question.has("sample")) {
          documents.list(question, out);
        } else {
          write(documents.answer(line).getBytes(StandardCharsets.UTF_8), out);
        }
        out.flush();
      }
    }
  }

  private static void write(byte[] answer, DataOutputStream out) throws IOException {
    out.writeInt(answer.length);
    out.write(answer);
  }

  private void list(JsonNode question, DataOutputStream out) throws IOException {
    String product = question.get("product").asText();
    int columns = question.get("columns").asInt();
    KeyPrefix asked = new KeyPrefix(program, product, columns, question.get("key").asText());
    DocumentLines lines =
        new DocumentLines(
            program, asked, question.get("sample").asDouble(), part -> write(part, out));
    byte[] only = asked.address();
    if (only != null) {
      if (lines.mayBeAt(only)) {
        levelOf(only).show(only, lines::take);
      }
    } else {
      int level = program.nodes().get(asked.node()).level();
      for (int i = 0; i < partitions(); i++) {
        CommittedLevel.Place place = placeOf(level, i);
        try (CommittedLevel each = opened(level, place)) {
          each.showAll(lines::mayBeAt, lines::take);
        }
      }
    }
    lines.flush();
    write(new byte[0], out);
  }

  private byte[] rows(JsonNode question) {
    int columns = question.get("columns").asInt();
    String product = question.get("rows").asText();
    KeyPrefix asked = new KeyPrefix(program, product, columns, question.get("key").asText());
    try {
      return rows.of(asked.address());
    } catch (DocumentRows.UnreadException error) {
      return ("!" + error.getMessage()).getBytes(StandardCharsets.UTF_8);
    }
  }

  private long[][] sizes() {
    StateSizes sizes = new StateSizes(program.nodes().size());
    for (int level = 1; level <= program.levels(); level++) {
      for (int i = 0; i < partitions(); i++) {
        try (CommittedLevel each = opened(level, placeOf(level, i))) {
          each.measure(sizes);
        }
      }
    }
    return sizes.counts();
  }

  private String answer(String question) {
    PendingRoots.Root root = roots.read(question);
    byte[] message = Message.pending(VERSION, Slice.of(root.key()));
    String letter = "";
    String document = "";
    for (byte[] each : levelOf(root.address()).ask(root.address(), message)) {
      ByteReader in = Message.body(each);
      switch (Message.kind(each)) {
        case Message.DOCUMENT -> document = text(in);
        case Message.DEAD_LETTER ->
            letter = new String(in.rest().toBytes(), StandardCharsets.UTF_8);
        case Message.TOMBSTONE, Message.COUNT -> {}
        default -> throw Message.unexpected(each);
      }
    }
    return letter + "\n" + document;
  }

  private String text(ByteReader document) {
    StructType type = program.products().get(document.readVarInt()).value();
    document.readLong();
    document.readBlob();
    document.readBlob();
    document.readBlob();
    ByteSink text = new ByteSink(4096);
    new JsonWriter(type).write(BinaryRow.of(document.rest(), type.length()), text);
    return new String(text.toByteArray(), StandardCharsets.UTF_8);
  }

  private CommittedLevel levelOf(byte[] address) {
    int level = program.nodes().get(Address.nodeOf(address)).level();
    int partition = Address.partitionOf(address, partitions());
    return levels.computeIfAbsent(placeOf(level, partition), place -> opened(level, place));
  }

  private int partitions() {
    return request.get("partitions").asInt();
  }

  private CommittedLevel.Place placeOf(int level, int partition) {
    // Spark numbers operators from the last on.
    int operator = program.levels() - level;
    return new CommittedLevel.Place(request.get("state").asText(), operator, partition);
  }

  private CommittedLevel opened(int level, CommittedLevel.Place place) {
    JsonNode id =
        request.path("ids").path(Integer.toString(place.operator())).path(place.partition()).path(0);
    Map<String, String> settings = new HashMap<>();
    request.get("settings").fields().forEachRemaining(
        each -> settings.put(each.getKey(), each.getValue().asText()));
    long version = request.get("version").asLong();
    return new CommittedLevel(
        shared, level, place, settings, version, id.isMissingNode() ? null : id.asText());
  }

  @Override
  public void close() {
    levels.values().forEach(CommittedLevel::close);
  }
}
