package dev.joinery.kernel.message;

import dev.joinery.kernel.bytes.ByteReader;
import java.io.Serializable;
import java.nio.charset.StandardCharsets;

/** How often something happened to an owner in one task. */
public record Count(String kind, String owner, String counter, long count) implements Serializable {
  /** Reads the body of a count's message. */
  public static Count read(ByteReader in) {
    String kind = in.readByte() == 1 ? "relations" : "counters";
    String owner = new String(in.readBlob().toBytes(), StandardCharsets.UTF_8);
    String counter = new String(in.readBlob().toBytes(), StandardCharsets.UTF_8);
    return new Count(kind, owner, counter, in.readLong());
  }
}
