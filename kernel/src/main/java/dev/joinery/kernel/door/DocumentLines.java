package dev.joinery.kernel.door;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.joinery.kernel.bytes.Address;
import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.Hash;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.egress.SinkLine;
import dev.joinery.kernel.ingress.KeyPrefix;
import dev.joinery.kernel.message.Message;
import dev.joinery.kernel.program.Program;
import dev.joinery.kernel.render.ByteSink;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;

/**
 * Writes documents that nodes show as lines of the files sink, some at a time; in place of one that
 * cannot be sent {@code {"key":…,"refused":reason}}. A version that state does not tell is left out.
 *
 * <p>Whether a document is in a sample follows from its key alone.
 */
final class DocumentLines {
  private static final int PART_BYTES = 1 << 16;

  private static final ObjectMapper JSON = new ObjectMapper();

  /** Takes lines. */
  interface Part {
    void write(byte[] lines) throws IOException;
  }

  private final KeyPrefix asked;
  private final long hashesBelow;
  private final SinkLine line;
  private final Part part;
  private final ByteSink lines = new ByteSink(PART_BYTES);

  /**
   * @param asked which documents are written
   * @param sample the share of them that is written, up to 1
   */
  DocumentLines(Program program, KeyPrefix asked, double sample, Part part) {
    this.asked = asked;
    this.hashesBelow = Math.round(sample * (1L << Integer.SIZE));
    this.line = new SinkLine(program.products().get(asked.product()));
    this.part = part;
  }

  /** Whether documents that are written may stand at an address. */
  boolean mayBeAt(byte[] address) {
    return asked.mayBeAt(address)
        && (asked.isOfParts() || isInSample(Address.keyOf(address)));
  }

  private boolean isInSample(Slice key) {
    int hash = Hash.of(key.array(), key.offset(), key.length());
    return Integer.toUnsignedLong(hash) < hashesBelow;
  }

  /** Takes what a node shows. */
  void take(byte[] message) {
    ByteReader in = Message.body(message);
    switch (Message.kind(message)) {
      case Message.DOCUMENT -> document(in);
      case Message.DEAD_LETTER -> refusal(in);
      default -> throw Message.unexpected(message);
    }
    if (lines.size() >= PART_BYTES) {
      flush();
    }
  }

  private void document(ByteReader in) {
    in.readVarInt();
    long version = in.readLong();
    in.readBlob();
    in.readBlob();
    Slice key = in.readBlob();
    if (asked.has(key) && (!asked.isOfParts() || isInSample(key))) {
      line.key(key, lines);
      line.value(in.rest(), lines);
      if (version > 0) {
        line.version(version, lines);
      }
      end();
    }
  }

  private void refusal(ByteReader in) {
    try {
      JsonNode letter = JSON.readTree(in.rest().toBytes());
      String key = letter.get("key").asText();
      if (asked.has(key) && (!asked.isOfParts() || isInSample(Slice.of(bytes(key))))) {
        lines.append(bytes("{\"key\":" + key + ",\"refused\":" + letter.get("reason")));
        end();
      }
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private void end() {
    lines.append('}');
    lines.append('\n');
  }

  /** Writes the lines that were not written yet. */
  void flush() {
    try {
      if (lines.size() > 0) {
        part.write(lines.toByteArray());
        lines.clear();
      }
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }
}
