package dev.joinery.kernel.ingress;

import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.joinery.kernel.bytes.Address;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.Message;
import dev.joinery.kernel.message.Outbox;
import dev.joinery.kernel.program.PatternProgram;
import dev.joinery.kernel.program.Program;
import dev.joinery.kernel.program.SearchProgram;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Arrays;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * The roots whose documents a sink was given by a batch that was never committed: real-time mode
 * sends before it commits, and what it sent may be what no later batch would send.
 *
 * <p>One batch, the first after the last commit, tells the nodes that sent them, and each sends its
 * document again, above the version it had.
 */
public final class PendingRoots {
  /** Keeps all digits of a number. */
  private static final ObjectMapper EXACT =
      new ObjectMapper()
          .enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS)
          .setNodeFactory(JsonNodeFactory.withExactBigDecimals(true));

  /**
   * @param key the row of the key's columns; of a stored query's match the codes of its two keys, of
   *     a pattern's the code of its start
   * @param version the one that the sink holds
   */
  public record Root(byte[] address, byte[] key, long version) {
    public void tell(Outbox outbox) {
      outbox.pass(Message.pending(version, Slice.of(key)), address);
    }
  }

  private final Program program;
  private final Reader[] readers;

  public PendingRoots(Program program) {
    this.program = program;
    this.readers = new Reader[program.products().size()];
  }

  /**
   * Reads a root as sinks hold it.
   *
   * @param json {@code {"product", "key", "version"}}; the key is the text of a JSON object, {@code
   *     {column: value}}, so that it keeps all its digits
   */
  public Root read(String json) {
    try {
      JsonNode told = EXACT.readTree(json);
      int product = Sender.productOf(program, told.path("product").asText());
      if (readers[product] == null) {
        readers[product] = Reader.of(program, product);
      }
      return readers[product].root(told.path("key").asText(), told.path("version").asLong());
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }

  /** Reads the keys of one product. */
  private interface Reader {
    Root root(String key, long version) throws IOException;

    static Reader of(Program program, int product) {
      Sender by = Sender.of(program, product);
      int sender = by.node();
      Program.NodeProgram node = program.nodes().get(sender);
      StructType type = program.products().get(product).key();
      if (node instanceof SearchProgram) {
        return matches(program, sender, type);
      }
      if (node instanceof PatternProgram pattern) {
        return starts(pattern, sender, type);
      }
      KeyReader reader = new KeyReader(type, by.columns());
      return (key, version) -> {
        byte[] row = reader.row(key);
        return new Root(Address.of(sender, reader.code(row)), row, version);
      };
    }

    /** A match is told to the bucket of its document, by the codes of the two keys. */
    private static Reader matches(Program program, int sender, StructType type) {
      KeyReader[] parts = new KeyReader[2];
      for (int i = 0; i < parts.length; i++) {
        StructType part = (StructType) type.fields()[i].dataType();
        parts[i] = new KeyReader(part, part.length());
      }
      return (key, version) -> {
        JsonNode both = EXACT.readTree(key);
        byte[] query = parts[0].code(parts[0].row(both.path(type.fields()[0].name()).toString()));
        byte[] document =
            parts[1].code(parts[1].row(both.path(type.fields()[1].name()).toString()));
        ByteWriter codes = new ByteWriter(query.length + document.length + 8);
        codes.writeBlob(Slice.of(query)).writeBlob(Slice.of(document));
        byte[] bucket = program.buckets().get(sender).of(document);
        return new Root(Address.of(sender, bucket), codes.toBytes(), version);
      };
    }

    /** A match is told to the key of its rows, by the code of the key of the first of them. */
    private static Reader starts(PatternProgram pattern, int sender, StructType type) {
      StructField start = type.fields()[pattern.by()];
      StructType by = new StructType(Arrays.copyOf(type.fields(), pattern.by()));
      StructType first = (StructType) start.dataType();
      KeyReader address = new KeyReader(by, by.length());
      KeyReader row = new KeyReader(first, first.length());
      return (key, version) -> {
        JsonNode both = EXACT.readTree(key);
        byte[] code = row.code(row.row(both.path(start.name()).toString()));
        ((ObjectNode) both).remove(start.name());
        byte[] told = address.code(address.row(both.toString()));
        return new Root(Address.of(sender, told), code, version);
      };
    }
  }
}
