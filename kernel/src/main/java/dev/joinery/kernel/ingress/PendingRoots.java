package dev.joinery.kernel.ingress;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.joinery.kernel.bytes.Address;
import dev.joinery.kernel.bytes.BinaryRow;
import dev.joinery.kernel.bytes.KeyCodec;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.format.ChangeSink;
import dev.joinery.kernel.format.Format;
import dev.joinery.kernel.format.Formats;
import dev.joinery.kernel.message.Message;
import dev.joinery.kernel.message.Outbox;
import dev.joinery.kernel.program.GroupProgram;
import dev.joinery.kernel.program.HistoryProgram;
import dev.joinery.kernel.program.Program;
import java.io.IOException;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * The roots whose documents a sink was given by a batch that was never committed: real-time mode
 * sends before it commits, and what it sent may be what no later batch would send.
 *
 * <p>One batch tells their Folds and Groups, and each sends its document again, above the version it
 * had.
 *
 * @param batch the batch that tells them: the first after the last commit
 */
public record PendingRoots(long batch, List<Root> roots) implements Serializable {
  public static final PendingRoots NONE = new PendingRoots(-1, List.of());

  /** {@code version} is the one that the sink holds, {@code key} the row of the key's columns. */
  public record Root(byte[] address, byte[] key, long version) implements Serializable {
    public void tell(Outbox outbox) {
      outbox.pass(Message.pending(version, Slice.of(key)), address);
    }
  }

  /**
   * Reads roots as sinks hold them.
   *
   * @param json a list of {@code {"product", "key": {column: value}, "version"}}, each root once
   */
  public static PendingRoots read(Program program, long batch, String json) {
    List<Root> roots = new ArrayList<>();
    Reader[] readers = new Reader[program.products().size()];
    try {
      for (JsonNode each : new ObjectMapper().readTree(json)) {
        int product = productOf(program, each.path("product").asText());
        if (readers[product] == null) {
          readers[product] = new Reader(program, product);
        }
        roots.add(readers[product].root(each.path("key"), each.path("version").asLong()));
      }
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
    return new PendingRoots(batch, roots);
  }

  private static int productOf(Program program, String name) {
    for (int i = 0; i < program.products().size(); i++) {
      if (program.products().get(i).name().equals(name)) {
        return i;
      }
    }
    throw new IllegalArgumentException("no product \"" + name + "\"");
  }

  /** Reads the keys of one product by the format of flat rows. */
  private static final class Reader implements ChangeSink {
    private final int sender;
    private final StructType type;
    private final KeyCodec codec;
    private final Format format;
    private byte[] row;

    Reader(Program program, int product) {
      this.sender = senderOf(program, product);
      this.type = program.products().get(product).key();
      StructField[] columns = type.fields();
      List<KeyCodec.Column> coded = new ArrayList<>();
      boolean timed = program.nodes().get(sender) instanceof HistoryProgram;
      for (int i = 0; i < columns.length - (timed ? 1 : 0); i++) {
        coded.add(new KeyCodec.Column(i, columns[i].dataType(), columns[i].dataType(), false));
      }
      this.codec = new KeyCodec(coded);
      this.format = Formats.of(relation(columns))[0];
    }

    private static int senderOf(Program program, int product) {
      for (int i = 0; i < program.nodes().size(); i++) {
        Program.NodeProgram node = program.nodes().get(i);
        if (node instanceof Program.FoldProgram fold && fold.product() == product
            || node instanceof GroupProgram group && group.product() == product
            || node instanceof HistoryProgram history && history.product() == product) {
          return i;
        }
      }
      throw new IllegalArgumentException("no node sends product " + product);
    }

    private static String relation(StructField[] columns) {
      ObjectNode relation = new ObjectMapper().createObjectNode();
      relation.put("name", "key").put("format", "json").put("timeUnit", "micros");
      relation.putNull("position").put("images", "full");
      ArrayNode key = relation.putArray("key");
      ArrayNode told = relation.putArray("columns");
      for (StructField column : columns) {
        key.add(column.name());
        told.addObject().put("name", column.name()).put("type", column.dataType().sql());
      }
      return "[" + relation + "]";
    }

    Root root(JsonNode key, long version) {
      row = null;
      format.decode(0, null, key.toString().getBytes(StandardCharsets.UTF_8), this);
      if (row == null) {
        throw new IllegalArgumentException("no key of type " + type.sql());
      }
      byte[] address = Address.of(sender, codec.encode(BinaryRow.of(Slice.of(row), type.length())));
      return new Root(address, row, version);
    }

    @Override
    public void change(
        int relation,
        int op,
        boolean positioned,
        long position,
        byte[] bytes,
        int length,
        long[] absent) {
      row = java.util.Arrays.copyOf(bytes, length);
    }

    @Override
    public void deadLetter(int relation, String reason, String detail) {
      throw new IllegalArgumentException(reason + ": " + detail);
    }

    @Override
    public void count(int relation, String counter) {}
  }
}
