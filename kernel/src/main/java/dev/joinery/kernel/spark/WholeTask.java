package dev.joinery.kernel.spark;

import scala.collection.Iterator;
import org.apache.spark.sql.catalyst.InternalRow;

/**
 * A processor of state that is handed all rows of a task as they come, in no order, and gives rows
 * itself: its {@code handleInputRows} is called once, with one value, a {@link TaskRows}.
 */
public interface WholeTask {
  /** What a task still sends once its processor is closed. */
  Iterator<InternalRow> afterTask();
}
