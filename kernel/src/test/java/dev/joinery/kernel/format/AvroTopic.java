package dev.joinery.kernel.format;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.generic.GenericDatumWriter;
import org.apache.avro.io.BinaryEncoder;
import org.apache.avro.io.DecoderFactory;
import org.apache.avro.io.EncoderFactory;

/** One topic under test whose messages are written in Avro; its schemas are numbered from 1. */
final class AvroTopic implements Schemas {
  final Recorder recorder;
  private final List<Schema> schemas = new ArrayList<>();
  private final int idBytes;

  AvroTopic(String format, String key, String ddl) {
    this(format, key, ddl, "", 4);
  }

  /**
   * @param more further options of the relation as JSON, each with a comma before it
   */
  AvroTopic(String format, String key, String ddl, String more, int idBytes) {
    this.idBytes = idBytes;
    String registry = ",\"registry\":{\"url\":\"http://registry\"}";
    recorder = new Recorder(format, key, ddl, more + registry, this);
  }

  @Override
  public Schema schema(long id) {
    if (id < 1 || id > schemas.size()) {
      throw Rejected.undecodable("schema " + id + " is not in the schema registry");
    }
    return schemas.get((int) id - 1);
  }

  @Override
  public int idBytes() {
    return idBytes;
  }

  /** Returns a message, its data told in Avro's JSON encoding. */
  byte[] message(String schemaJson, String dataJson) {
    Schema schema = new Schema.Parser().parse(schemaJson);
    try {
      Object data =
          new GenericDatumReader<>(schema)
              .read(null, DecoderFactory.get().jsonDecoder(schema, dataJson));
      return message(schema, data);
    } catch (IOException wrongTest) {
      throw new UncheckedIOException(wrongTest);
    }
  }

  byte[] message(Schema schema, Object data) {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    BinaryEncoder encoder = EncoderFactory.get().directBinaryEncoder(out, null);
    try {
      new GenericDatumWriter<>(schema).write(data, encoder);
    } catch (IOException impossible) {
      throw new UncheckedIOException(impossible);
    }
    return encoded(schema, out.toByteArray());
  }

  /** Returns a message of data that is encoded already. */
  byte[] encoded(Schema schema, byte[] data) {
    if (!schemas.contains(schema)) {
      schemas.add(schema);
    }
    int id = schemas.indexOf(schema) + 1;
    ByteBuffer message = ByteBuffer.allocate(1 + idBytes + data.length).put((byte) 0);
    if (idBytes == Long.BYTES) {
      message.putLong(id);
    } else {
      message.putInt(id);
    }
    return message.put(data).array();
  }

  /** Decodes a message and returns what was told of it. */
  List<String> decode(String schemaJson, String dataJson) {
    return recorder.decodeBytes(null, message(schemaJson, dataJson));
  }
}
