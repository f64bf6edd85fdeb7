package dev.joinery.kernel.spark;

import dev.joinery.kernel.bytes.Address;
import dev.joinery.kernel.bytes.BinaryRow;
import dev.joinery.kernel.message.Event;
import java.io.Serializable;
import org.apache.spark.sql.catalyst.InternalRow;

/**
 * Reads the events that are at one node as columns, inside Spark's own projection.
 *
 * <p>Public, and so is its method, because generated code calls it.
 */
public final class EventReader implements Serializable {
  private final int node;
  private final int columns;

  public EventReader(int node, int columns) {
    this.node = node;
    this.columns = columns;
  }

  /** The event's columns; null for a message to another node. */
  public InternalRow row(byte[] message, byte[] address) {
    return Address.nodeOf(address) == node
        ? BinaryRow.of(Event.read(message).row(), columns)
        : null;
  }
}
