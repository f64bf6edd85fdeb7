package dev.joinery.kernel.message;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.joinery.kernel.bytes.BinaryRow;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.program.Program;
import dev.joinery.kernel.render.ByteSink;
import dev.joinery.kernel.render.JsonWriter;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.temporal.ChronoUnit;

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

  /** A sentence, or null where the document may go. */
  public String reason(Slice row, int flags, String overflowed) {
    if ((flags & Message.FLAG_FAILED) != 0) {
      return overflowed == null
          ? "an embed below the root holds more rows than its limit"
          : "embed \"" + overflowed + "\" holds more rows than its limit";
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

  public byte[] deadLetter(String detail, boolean overflow, Slice key, long timestamp) {
    ByteSink keyText = new ByteSink(256);
    new JsonWriter(product.key()).write(BinaryRow.of(key, product.key().length()), keyText);
    ObjectNode letter = JsonNodeFactory.instance.objectNode();
    letter.put("reason", overflow ? "overflow" : "document_too_large");
    letter.put("detail", detail);
    letter.put("time", Instant.EPOCH.plus(timestamp, ChronoUnit.MICROS).toString());
    letter.put("product", product.name());
    letter.put("key", new String(keyText.array(), 0, keyText.size(), StandardCharsets.UTF_8));
    return letter.toString().getBytes(StandardCharsets.UTF_8);
  }
}
