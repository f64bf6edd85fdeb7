package dev.joinery.kernel.format;

import org.apache.avro.Schema;

/** Tells the schemas that messages name by a number. */
interface Schemas {
  /**
   * Returns the schema with this id.
   *
   * @throws Rejected if there is none, or it is not of Avro
   * @throws RegistryError if it cannot be asked for
   */
  Schema schema(long id);

  /** The bytes that an id takes in a message. */
  int idBytes();
}
