package dev.joinery.kernel.spark;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.joinery.kernel.bytes.BinaryRow;
import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.message.Message;
import dev.joinery.kernel.program.Program;
import dev.joinery.kernel.render.ByteSink;
import dev.joinery.kernel.render.JsonWriter;
import java.io.IOException;
import java.io.Serializable;
import java.io.UncheckedIOException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Reads what left the chain as columns of a DataFrame, inside Spark's own projection.
 *
 * <p>Public, and so are its methods, because generated code calls them. A task has its own copy.
 */
public final class OutputReader implements Serializable {
  private static final String HINT =
      "correct the frame; documents(…, dead_letters=True) gives such changes as rows.";

  private final Program.ProductProgram product;
  private transient JsonWriter writer;
  private transient ByteSink text;

  public OutputReader(Program.ProductProgram product) {
    this.product = product;
  }

  /** True for documents and tombstones of the first product, which reads the others. */
  public boolean isDocument(byte[] message) {
    int kind = Message.kind(message);
    boolean sent = kind == Message.DOCUMENT || kind == Message.TOMBSTONE;
    return sent && Message.body(message).readVarInt() == 0;
  }

  /** True for dead letters. */
  public boolean isDeadLetter(byte[] message) {
    return Message.kind(message) == Message.DEAD_LETTER;
  }

  /** The root key; null for a dead letter. */
  public InternalRow key(byte[] message) {
    if (!isDocument(message)) {
      return null;
    }
    ByteReader in = afterReplaced(message);
    return BinaryRow.of(in.readBlob(), product.key().length());
  }

  /** The document; null for a tombstone and a dead letter. */
  public InternalRow value(byte[] message) {
    if (Message.kind(message) != Message.DOCUMENT || !isDocument(message)) {
      return null;
    }
    ByteReader in = afterReplaced(message);
    in.readBlob();
    return BinaryRow.of(in.rest(), product.value().length());
  }

  /** The document as JSON; null for a tombstone and a dead letter. */
  public UTF8String json(byte[] message) {
    InternalRow value = value(message);
    if (value == null) {
      return null;
    }
    if (writer == null) {
      writer = new JsonWriter(product.value());
      text = new ByteSink(1024);
    }
    text.clear();
    writer.write(value, text);
    return UTF8String.fromBytes(text.toByteArray());
  }

  /** The version of a document or a tombstone; null for a dead letter. */
  public Long version(byte[] message) {
    if (!isDocument(message)) {
      return null;
    }
    ByteReader in = Message.body(message);
    in.readVarInt();
    return in.readLong();
  }

  /** The text of a dead letter; null for a document and a tombstone. */
  public UTF8String error(byte[] message) {
    return isDeadLetter(message)
        ? UTF8String.fromBytes(Message.body(message).rest().toBytes())
        : null;
  }

  /**
   * One line that tells why a change is not in the documents; null where there is no dead letter,
   * or one that the product asks for itself.
   */
  public UTF8String refusal(byte[] message) {
    if (!isDeadLetter(message)) {
      return null;
    }
    JsonNode letter = letter(Message.body(message).rest().toBytes());
    String reason = letter.path("reason").asText();
    if (reason.equals("lookup_miss")) {
      return null;
    }
    String of = letter.has("relation") ? letter.get("relation").asText() : product.name();
    String key = letter.path("key").isTextual() ? ", key " + letter.get("key").asText() : "";
    return UTF8String.fromString(
        "RUN_FRAME a change of \"%s\" cannot be used: %s (%s)%s. Hint: %s"
            .formatted(of, reason, letter.path("detail").asText(), key, HINT));
  }

  private static JsonNode letter(byte[] text) {
    try {
      return new ObjectMapper().readTree(text);
    } catch (IOException notJson) {
      throw new UncheckedIOException(notJson);
    }
  }

  private static ByteReader afterReplaced(byte[] message) {
    ByteReader in = Message.body(message);
    in.readVarInt();
    in.readLong();
    in.readBlob();
    in.readBlob();
    return in;
  }
}
