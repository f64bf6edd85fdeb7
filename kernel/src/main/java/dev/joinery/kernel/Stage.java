package dev.joinery.kernel;

import dev.joinery.kernel.render.ByteSink;
import dev.joinery.kernel.render.JsonWriter;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.function.FlatMapFunction;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructType;

/**
 * Writes one batch's documents, changes and dead letters as JSON lines, a part a task; gives back
 * counts.
 *
 * <p>A task that runs again replaces its parts.
 */
final class Stage implements FlatMapFunction<Iterator<InternalRow>, Stage.Count> {
  static final String DEAD_LETTERS = "dead_letters";

  /** No product's name begins so. */
  static final String CHANGES = ".changes";

  /** How often something happened to an owner in one task. */
  record Count(String kind, String owner, String counter, long count) implements Serializable {
    /** Reads the body of a count's message. */
    static Count read(ByteReader in) {
      String kind = in.readByte() == 1 ? "relations" : "counters";
      String owner = new String(in.readBlob().toBytes(), StandardCharsets.UTF_8);
      String counter = new String(in.readBlob().toBytes(), StandardCharsets.UTF_8);
      return new Count(kind, owner, counter, in.readLong());
    }
  }

  private final List<Program.ProductProgram> products;
  private final List<Program.RelationProgram> relations;
  private final String folder;

  Stage(List<Program.ProductProgram> products, String folder) {
    this(products, List.of(), folder);
  }

  /** Writes the changes of {@code relations}, too. */
  Stage(
      List<Program.ProductProgram> products,
      List<Program.RelationProgram> relations,
      String folder) {
    this.products = products;
    this.relations = relations;
    this.folder = folder;
  }

  @Override
  public Iterator<Count> call(Iterator<InternalRow> rows) throws IOException {
    try (Parts parts = new Parts(TaskContext.getPartitionId())) {
      while (rows.hasNext()) {
        parts.take(rows.next().getBinary(0));
      }
      return parts.counts();
    }
  }

  private final class Parts implements AutoCloseable {
    private final int partition;
    private final Map<String, OutputStream> streams = new HashMap<>();
    private final Map<List<String>, Long> counts = new HashMap<>();
    private final Lines[] lines = new Lines[products.size()];
    private final ChangeLines changes = new ChangeLines(relations);
    private final ByteSink line = new ByteSink(4096);

    Parts(int partition) {
      this.partition = partition;
    }

    void take(byte[] message) throws IOException {
      ByteReader in = Message.body(message);
      switch (Message.kind(message)) {
        case Message.DOCUMENT, Message.TOMBSTONE -> document(Message.kind(message), in);
        case Message.DEAD_LETTER -> deadLetter(in.rest());
        case Message.COUNT -> count(Count.read(in));
        case Message.RAW -> change(RawChange.read(message));
        default -> throw new IllegalStateException("message kind " + Message.kind(message));
      }
    }

    private void document(int kind, ByteReader in) throws IOException {
      int product = in.readVarInt();
      if (lines[product] == null) {
        lines[product] = new Lines(products.get(product));
      }
      String name = products.get(product).name();
      line.clear();
      lines[product].write(kind, in, line);
      stream(name).write(line.array(), 0, line.size());
      lines[product].count(kind, line.size());
    }

    private void deadLetter(Slice json) throws IOException {
      OutputStream out = stream(DEAD_LETTERS);
      out.write(json.array(), json.offset(), json.length());
      out.write('\n');
      add("dead_letters", "", "count", 1);
    }

    private void change(RawChange change) throws IOException {
      line.clear();
      changes.write(change, line);
      stream(CHANGES).write(line.array(), 0, line.size());
    }

    private void count(Count count) {
      add(count.kind(), count.owner(), count.counter(), count.count());
    }

    private void add(String kind, String owner, String counter, long count) {
      counts.merge(List.of(kind, owner, counter), count, Long::sum);
    }

    private OutputStream stream(String name) {
      return streams.computeIfAbsent(name, this::open);
    }

    private OutputStream open(String name) {
      try {
        Path path = Path.of(folder, name, String.format("part-%05d.jsonl", partition));
        Files.createDirectories(path.getParent());
        return new BufferedOutputStream(Files.newOutputStream(path), 1 << 16);
      } catch (IOException error) {
        throw new UncheckedIOException(error);
      }
    }

    Iterator<Count> counts() {
      for (int i = 0; i < lines.length; i++) {
        if (lines[i] != null) {
          lines[i].tell(products.get(i).name(), this);
        }
      }
      return counts.entrySet().stream()
          .map(
              each ->
                  new Count(
                      each.getKey().get(0),
                      each.getKey().get(1),
                      each.getKey().get(2),
                      each.getValue()))
          .iterator();
    }

    @Override
    public void close() throws IOException {
      for (OutputStream stream : streams.values()) {
        stream.close();
      }
    }
  }

  /** Writes one product's documents as lines of the files sink, and counts them. */
  private static final class Lines {
    private static final byte[] KEY = "{\"key\":".getBytes(StandardCharsets.UTF_8);
    private static final byte[] VALUE = ",\"value\":".getBytes(StandardCharsets.UTF_8);
    private static final byte[] NULL = "null".getBytes(StandardCharsets.UTF_8);
    private static final byte[] VERSION = ",\"version\":".getBytes(StandardCharsets.UTF_8);
    private final JsonWriter key;
    private final JsonWriter value;
    private final int keyColumns;
    private final int valueColumns;
    private long upserts;
    private long tombstones;
    private long bytes;

    Lines(Program.ProductProgram product) {
      this.key = new JsonWriter(product.key());
      this.value = new JsonWriter(product.value());
      this.keyColumns = columns(product.key());
      this.valueColumns = columns(product.value());
    }

    void count(int kind, int size) {
      if (kind == Message.DOCUMENT) {
        upserts++;
      } else {
        tombstones++;
      }
      bytes += size;
    }

    void tell(String name, Parts parts) {
      if (upserts > 0) {
        parts.add("documents", name, "upserts", upserts);
      }
      if (tombstones > 0) {
        parts.add("documents", name, "tombstones", tombstones);
      }
      parts.add("documents", name, "bytes", bytes);
    }

    private static int columns(StructType type) {
      return type.length();
    }

    void write(int kind, ByteReader in, ByteSink out) {
      long version = in.readLong();
      out.append(KEY);
      key.write(Row.of(in.readBlob(), keyColumns), out);
      out.append(VALUE);
      if (kind == Message.DOCUMENT) {
        value.write(Row.of(in.rest(), valueColumns), out);
      } else {
        out.append(NULL);
      }
      out.append(VERSION);
      out.append(Long.toString(version).getBytes(StandardCharsets.UTF_8));
      out.append('}');
      out.append('\n');
    }
  }
}
