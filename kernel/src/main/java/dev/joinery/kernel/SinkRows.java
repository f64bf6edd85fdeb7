package dev.joinery.kernel;

import dev.joinery.kernel.render.ByteSink;
import dev.joinery.kernel.render.JsonWriter;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import org.apache.spark.api.java.function.MapPartitionsFunction;
import scala.Tuple2;
import scala.Tuple4;

/**
 * Turns what leaves the chain into records of Kafka: topic, key, value, version; a row as it comes.
 *
 * <p>Remembers nothing; counts what it passes.
 */
final class SinkRows
    implements MapPartitionsFunction<Tuple2<byte[], byte[]>, Tuple4<String, byte[], byte[], byte[]>> {
  private final List<Program.ProductProgram> products;
  private final String[][] topics;
  private final String deadLetters;
  private final Tally tally;
  private final Fence fence;

  /** {@code topics} are those of each product, {@code deadLetters} is the one for dead letters. */
  SinkRows(
      List<Program.ProductProgram> products,
      String[][] topics,
      String deadLetters,
      Tally tally,
      Fence fence) {
    this.products = products;
    this.topics = topics;
    this.deadLetters = deadLetters;
    this.tally = tally;
    this.fence = fence;
  }

  @Override
  public Iterator<Tuple4<String, byte[], byte[], byte[]>> call(
      Iterator<Tuple2<byte[], byte[]>> rows) {
    return new Records(rows);
  }

  /** Never reads a row before the records of the row before it were taken. */
  private final class Records implements Iterator<Tuple4<String, byte[], byte[], byte[]>> {
    private final Iterator<Tuple2<byte[], byte[]>> rows;
    private final ArrayDeque<Tuple4<String, byte[], byte[], byte[]>> ready = new ArrayDeque<>();
    private final JsonWriter[] keys = new JsonWriter[products.size()];
    private final JsonWriter[] values = new JsonWriter[products.size()];
    private final ByteSink text = new ByteSink(4096);

    Records(Iterator<Tuple2<byte[], byte[]>> rows) {
      this.rows = rows;
    }

    @Override
    public boolean hasNext() {
      while (ready.isEmpty() && rows.hasNext()) {
        take(rows.next()._1());
        fence.check();
      }
      return !ready.isEmpty();
    }

    @Override
    public Tuple4<String, byte[], byte[], byte[]> next() {
      if (!hasNext()) {
        throw new NoSuchElementException();
      }
      return ready.poll();
    }

    private void take(byte[] message) {
      ByteReader in = Message.body(message);
      switch (Message.kind(message)) {
        case Message.DOCUMENT, Message.TOMBSTONE -> document(Message.kind(message), in);
        case Message.DEAD_LETTER -> {
          ready.add(new Tuple4<>(deadLetters, null, in.rest().toBytes(), null));
          tally.add(Stage.DEAD_LETTERS, "", "count", 1);
        }
        case Message.COUNT -> tally.add(Stage.Count.read(in));
        default -> throw new IllegalStateException("message kind " + Message.kind(message));
      }
    }

    private void document(int kind, ByteReader in) {
      int product = in.readVarInt();
      Program.ProductProgram program = products.get(product);
      if (keys[product] == null) {
        keys[product] = new JsonWriter(program.key());
        values[product] = new JsonWriter(program.value());
      }
      byte[] version = Long.toString(in.readLong()).getBytes(StandardCharsets.US_ASCII);
      text.clear();
      keys[product].write(Row.of(in.readBlob(), program.key().length()), text);
      byte[] key = text.toByteArray();
      byte[] value = null;
      if (kind == Message.DOCUMENT) {
        text.clear();
        values[product].write(Row.of(in.rest(), program.value().length()), text);
        value = text.toByteArray();
      }
      String counter = kind == Message.DOCUMENT ? "upserts" : "tombstones";
      tally.add("documents", program.name(), counter, 1);
      for (String topic : topics[product]) {
        ready.add(new Tuple4<>(topic, key, value, version));
      }
    }
  }
}
