package dev.joinery.kernel.egress;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.joinery.kernel.bytes.BinaryRow;
import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.message.Counters;
import dev.joinery.kernel.message.DeadLetter;
import dev.joinery.kernel.message.Message;
import dev.joinery.kernel.message.Tally;
import dev.joinery.kernel.program.Program;
import dev.joinery.kernel.render.ByteSink;
import dev.joinery.kernel.render.JsonWriter;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import org.apache.spark.api.java.function.MapPartitionsFunction;
import scala.Tuple2;
import scala.Tuple5;

/**
 * Turns what leaves the chain into records of Kafka, a row as it comes: topic, key, value, and the
 * name and text of a header.
 *
 * <p>Remembers nothing; counts what it passes.
 */
public final class SinkRows
    implements MapPartitionsFunction<
        Tuple2<byte[], byte[]>, Tuple5<String, byte[], byte[], String, byte[]>> {
  static final String VERSION = "joinery.version";
  static final String REASON = "joinery.reason";

  /** What a record needs beside its key and value, at most. */
  private static final int OVERHEAD = 512;

  private static final int KEPT_BYTES = 64 * 1024;

  /** A topic, the size of the largest record that it takes, and what dead letters call it. */
  record Place(String topic, int maxBytes, String sink) implements Serializable {}

  /** Where records go: the topics of each product, and that of dead letters. */
  public record Target(List<List<Place>> topics, Place deadLetters) implements Serializable {
    /**
     * Reads a target.
     *
     * @param json {@code {"topics": [[place]], "deadLetters": place}}, products in the order of the
     *     program; a place is {@code {"topic", "maxBytes", "sink"}}
     */
    public static Target read(String json) {
      try {
        JsonNode told = new ObjectMapper().readTree(json);
        List<List<Place>> topics = new ArrayList<>();
        for (JsonNode product : told.path("topics")) {
          List<Place> places = new ArrayList<>();
          product.forEach(each -> places.add(place(each)));
          topics.add(places);
        }
        return new Target(topics, place(told.path("deadLetters")));
      } catch (JsonProcessingException error) {
        throw new UncheckedIOException(error);
      }
    }

    /** Returns that of products whose documents are handed over, of any size; see Handover. */
    public static Target handed(List<String> products) {
      List<List<Place>> topics = products.stream().map(Target::handed).toList();
      return new Target(topics, new Place(Handover.LETTERS, Integer.MAX_VALUE, ""));
    }

    private static List<Place> handed(String product) {
      return List.of(new Place(product, Integer.MAX_VALUE, ""));
    }

    private static Place place(JsonNode told) {
      return new Place(
          told.path("topic").asText(), told.path("maxBytes").asInt(), told.path("sink").asText());
    }
  }

  private final List<Program.ProductProgram> products;
  private final Target target;
  private final Tally tally;
  private final Fence fence;

  public SinkRows(List<Program.ProductProgram> products, Target target, Tally tally, Fence fence) {
    this.products = products;
    this.target = target;
    this.tally = tally;
    this.fence = fence;
  }

  @Override
  public Iterator<Tuple5<String, byte[], byte[], String, byte[]>> call(
      Iterator<Tuple2<byte[], byte[]>> rows) {
    return new Records(rows);
  }

  /** Never reads a row before the records of the row before it were taken. */
  private final class Records implements Iterator<Tuple5<String, byte[], byte[], String, byte[]>> {
    private final Iterator<Tuple2<byte[], byte[]>> rows;
    private final ArrayDeque<Tuple5<String, byte[], byte[], String, byte[]>> ready =
        new ArrayDeque<>();
    private final JsonWriter[] keys = new JsonWriter[products.size()];
    private final JsonWriter[] values = new JsonWriter[products.size()];
    private final ByteSink text = new ByteSink(4096);
    private final Counters counters = tally.counters();

    Records(Iterator<Tuple2<byte[], byte[]>> rows) {
      this.rows = rows;
    }

    @Override
    public boolean hasNext() {
      while (ready.isEmpty() && rows.hasNext()) {
        take(rows.next()._1());
        fence.check();
      }
      if (ready.isEmpty()) {
        // The end of all rows, after which Spark commits what was done.
        fence.checkNow();
      }
      return !ready.isEmpty();
    }

    @Override
    public Tuple5<String, byte[], byte[], String, byte[]> next() {
      if (!hasNext()) {
        throw new NoSuchElementException();
      }
      return ready.poll();
    }

    private void take(byte[] message) {
      ByteReader in = Message.body(message);
      switch (Message.kind(message)) {
        case Message.DOCUMENT, Message.TOMBSTONE -> document(Message.kind(message), in);
        case Message.DEAD_LETTER -> deadLetter(in.rest().toBytes());
        case Message.COUNT -> counters.addMessage(in);
        default -> throw Message.unexpected(message);
      }
    }

    private void document(int kind, ByteReader in) {
      int product = in.readVarInt();
      Program.ProductProgram program = products.get(product);
      if (keys[product] == null) {
        keys[product] = new JsonWriter(program.key());
        values[product] = new JsonWriter(program.value());
      }
      byte[] version = utf8(Long.toString(in.readLong()));
      in.readBlob();
      in.readBlob();
      text.clear();
      keys[product].write(BinaryRow.of(in.readBlob(), program.key().length()), text);
      byte[] key = text.toByteArray();
      byte[] value = null;
      if (kind == Message.DOCUMENT) {
        text.clear();
        values[product].write(BinaryRow.of(in.rest(), program.value().length()), text);
        value = text.toByteArray();
      }
      String counter = kind == Message.DOCUMENT ? "upserts" : "tombstones";
      counters.add(Counters.DOCUMENTS, program.name(), counter, 1);
      counters.add(
          Counters.DOCUMENTS, program.name(), "bytes", value == null ? 0 : value.length);
      for (Place place : target.topics().get(product)) {
        if (value != null && key.length + value.length + OVERHEAD > place.maxBytes()) {
          counters.product(program.name(), "refused", 1);
          deadLetter(refusal(program.name(), place, key, value, version));
        } else {
          ready.add(new Tuple5<>(place.topic(), key, value, VERSION, version));
        }
      }
    }

    private void deadLetter(byte[] told) {
      counters.add(Counters.DEAD_LETTERS, "", "count", 1);
      Place place = target.deadLetters();
      KeptLetter letter = KeptLetter.of(told, place.maxBytes() - OVERHEAD);
      byte[] id = utf8(letter.id());
      ready.add(
          new Tuple5<>(place.topic(), id, letter.toBytes(), REASON, utf8(letter.reason())));
    }
  }

  /** The letter of a document that its topic would never take, with the beginning at least. */
  private static byte[] refusal(
      String product, Place place, byte[] key, byte[] value, byte[] version) {
    String detail = "Topic \"" + place.topic() + "\" takes at most " + place.maxBytes() + " bytes.";
    return new DeadLetter("document_too_large", detail)
        .put("product", product)
        .put("sink", place.sink())
        .put("time", Instant.now().toString())
        .put("key", text(key, key.length))
        .put("value", text(value, Math.min(value.length, KEPT_BYTES)))
        .put("cut", value.length > KEPT_BYTES)
        .put("version", Long.parseLong(text(version, version.length)))
        .toBytes();
  }

  private static byte[] utf8(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private static String text(byte[] bytes, int length) {
    return new String(bytes, 0, length, StandardCharsets.UTF_8);
  }
}
