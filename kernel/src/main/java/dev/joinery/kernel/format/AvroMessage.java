package dev.joinery.kernel.format;

import java.nio.ByteBuffer;
import org.apache.avro.Schema;

/** The registry's wire format: a zero, the id of the writer's schema, then the Avro data. */
final class AvroMessage {
  final AvroCursor in = new AvroCursor();
  private final Schemas schemas;
  private long lastId;
  private Schema last;

  AvroMessage(Schemas schemas) {
    this.schemas = schemas;
  }

  /** Opens a message; returns its writer's schema. */
  Schema open(byte[] message) {
    int idBytes = schemas.idBytes();
    if (message.length <= idBytes || message[0] != 0) {
      throw Rejected.undecodable(
          "no schema id in front: not Avro in a schema registry's wire format");
    }
    ByteBuffer head = ByteBuffer.wrap(message, 1, idBytes);
    long id = idBytes == Long.BYTES ? head.getLong() : head.getInt();
    if (last == null || id != lastId) {
      last = schemas.schema(id);
      lastId = id;
    }
    in.open(message, 1 + idBytes, message.length);
    return last;
  }
}
