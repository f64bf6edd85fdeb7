package dev.joinery.kernel.format;

import java.io.Serializable;
import org.apache.avro.Schema;

/** What stands for the registry of a relation whose source names none; refuses when asked. */
record NoRegistry(String relation) implements Schemas, Serializable {
  @Override
  public Schema schema(long id) {
    throw new RegistryError(
        "the source of relation \"" + relation + "\" names no schema registry");
  }

  @Override
  public int idBytes() {
    return Integer.BYTES;
  }
}
