package dev.joinery.kernel.format;

import java.io.Serializable;
import org.apache.avro.Schema;
import org.apache.spark.broadcast.Broadcast;

/**
 * A registry that the tasks of an executor share: a broadcast value is there once a process, so
 * what one task has learned the next one knows.
 */
record SharedSchemas(Broadcast<Registry> registry) implements Schemas, Serializable {
  @Override
  public Schema schema(long id) {
    return registry.value().schema(id);
  }

  @Override
  public int idBytes() {
    return registry.value().idBytes();
  }
}
