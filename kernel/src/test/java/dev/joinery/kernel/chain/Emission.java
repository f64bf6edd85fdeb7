package dev.joinery.kernel.chain;

import dev.joinery.kernel.bytes.BinaryRow;
import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.Message;
import dev.joinery.kernel.message.Replacement;
import dev.joinery.kernel.program.Program;
import dev.joinery.kernel.render.ByteSink;
import dev.joinery.kernel.render.JsonWriter;
import java.nio.charset.StandardCharsets;
import org.apache.spark.sql.types.StructType;

/** A document as a sink sees it, as text; {@code value} is null for a tombstone. */
public record Emission(String product, String key, long version, String value) {
  public static Emission read(Program program, byte[] message) {
    ByteReader in = Message.body(message);
    Program.ProductProgram product = program.products().get(in.readVarInt());
    long version = in.readLong();
    in.readBlob();
    in.readBlob();
    String key = json(product.key(), in.readBlob());
    boolean gone = Message.kind(message) == Message.TOMBSTONE;
    return new Emission(
        product.name(), key, version, gone ? null : json(product.value(), in.rest()));
  }

  /** The number of a document's product, and its key. */
  public static String keyOf(byte[] message) {
    ByteReader in = Message.body(message);
    int product = in.readVarInt();
    in.readLong();
    in.readBlob();
    in.readBlob();
    return product + " " + java.util.HexFormat.of().formatHex(in.readBlob().toBytes());
  }

  /** What a document or a tombstone tells that it replaces; null where it does not know. */
  static Replacement replacementOf(byte[] message) {
    ByteReader in = Message.body(message);
    in.readVarInt();
    in.readLong();
    in.readBlob();
    Slice told = in.readBlob();
    return told.isEmpty() ? null : Replacement.read(told);
  }

  private static String json(StructType type, Slice row) {
    ByteSink out = new ByteSink(256);
    new JsonWriter(type).write(BinaryRow.of(row, type.length()), out);
    return new String(out.array(), 0, out.size(), StandardCharsets.UTF_8);
  }
}
