package dev.joinery.kernel.egress;

import dev.joinery.kernel.bytes.BinaryRow;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.program.Program;
import dev.joinery.kernel.render.ByteSink;
import dev.joinery.kernel.render.JsonWriter;
import java.nio.charset.StandardCharsets;

/**
 * Writes the parts of a line of the files sink, one after the other: {@code {"key":…,"value":…,
 * "version":…}}. Whoever writes it closes it.
 */
public final class SinkLine {
  private static final byte[] KEY = bytes("{\"key\":");
  private static final byte[] VALUE = bytes(",\"value\":");
  private static final byte[] VERSION = bytes(",\"version\":");

  /** Where the key's text begins. */
  static final int KEY_FROM = KEY.length;

  private final JsonWriter key;
  private final JsonWriter value;
  private final int keyColumns;
  private final int valueColumns;

  public SinkLine(Program.ProductProgram product) {
    this.key = new JsonWriter(product.key());
    this.value = new JsonWriter(product.value());
    this.keyColumns = product.key().length();
    this.valueColumns = product.value().length();
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  public void key(Slice row, ByteSink out) {
    out.append(KEY);
    key.write(BinaryRow.of(row, keyColumns), out);
  }

  /** {@code row} is null for a tombstone. */
  public void value(Slice row, ByteSink out) {
    out.append(VALUE);
    value.write(row == null ? null : BinaryRow.of(row, valueColumns), out);
  }

  public void version(long version, ByteSink out) {
    out.append(VERSION);
    out.append(bytes(Long.toString(version)));
  }
}
