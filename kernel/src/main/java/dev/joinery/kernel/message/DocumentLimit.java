package dev.joinery.kernel.message;

import dev.joinery.kernel.bytes.BinaryRow;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.program.Program;
import dev.joinery.kernel.render.ByteSink;
import dev.joinery.kernel.render.JsonWriter;
import org.apache.spark.sql.types.StructType;

/** Says why a document cannot go to the sinks: an embed overflowed, or it is too large. */
public final class DocumentLimit {
  /** No JSON text is longer than this many times the binary row, field names of 256 included. */
  private static final int GROWTH = 64;

  private final Program.ProductProgram product;
  private final long maxBytes;
  private JsonWriter values;

  public DocumentLimit(Program.ProductProgram product, long maxBytes) {
    this.product = product;
    this.maxBytes = maxBytes;
  }

  /** Whether a document of this size, in bytes, is too large. */
  public boolean isBelow(long bytes) {
    return maxBytes < bytes;
  }

  /**
   * A sentence, or null where the document may go.
   *
   * @param row null where it is too large to be made
   */
  public String reason(Slice row, int flags, String overflowed) {
    if ((flags & Message.FLAG_FAILED) != 0) {
      return overflowed == null
          ? "an embed below the root holds more rows than its limit"
          : "embed \"" + overflowed + "\" holds more rows than its limit";
    }
    if (row == null) {
      return "the document has more than the " + maxBytes + " bytes it may have";
    }
    if (row.length() < maxBytes / GROWTH) {
      return null;
    }
    ByteSink out = new ByteSink(256);
    if (values == null) {
      values = new JsonWriter(product.value());
    }
    values.write(BinaryRow.of(row, product.value().length()), out);
    return out.size() <= maxBytes
        ? null
        : "the document has " + out.size() + " bytes, more than the " + maxBytes + " it may have";
  }

  /** The letter of a document that may not go, as a message. */
  public byte[] deadLetter(String detail, boolean overflow, Slice key, long timestamp) {
    return letter(overflow ? "overflow" : "document_too_large", detail, key, timestamp);
  }

  /** A letter about the document of a key, as a message. */
  public byte[] letter(String reason, String detail, Slice key, long timestamp) {
    return begin(reason, detail, key, timestamp).toMessage(timestamp);
  }

  /** The same, with the row that is left out of the document. */
  public byte[] letter(
      String reason, String detail, Slice key, StructType type, Slice row, long timestamp) {
    return begin(reason, detail, key, timestamp)
        .put("value", type, BinaryRow.of(row, type.length()))
        .toMessage(timestamp);
  }

  private DeadLetter begin(String reason, String detail, Slice key, long timestamp) {
    return new DeadLetter(reason, detail)
        .time(timestamp)
        .put("product", product.name())
        .put("key", product.key(), BinaryRow.of(key, product.key().length()));
  }
}
