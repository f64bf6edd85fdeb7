package dev.joinery.kernel.spark;

import dev.joinery.kernel.bytes.BinaryRow;
import java.io.Serializable;
import org.apache.spark.SparkContext;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.StructType;

/**
 * Turns the columns of a frame into the bytes of a relation's row, inside Spark's own projection.
 *
 * <p>Public, and so are its methods, because generated code calls them. A task has its own copy.
 */
public final class RowPacker implements Serializable {
  private static final String BATCH_ID = "streaming.sql.batchId";

  private final StructType type;
  private transient UnsafeProjection projection;

  public RowPacker(StructType type) {
    this.type = type;
  }

  /** The row's bytes, in an array of their own. */
  public byte[] pack(InternalRow row) {
    if (projection == null) {
      projection = UnsafeProjection.create(type);
    }
    UnsafeRow packed = projection.apply(row);
    return BinaryRow.copy(packed).array();
  }

  /**
   * The number of the micro-batch that is worked for, 0 outside a stream. Spark may evaluate small
   * plans on the driver, where there is no task.
   */
  public long batch() {
    TaskContext task = TaskContext.get();
    String id =
        task == null
            ? SparkContext.getOrCreate().getLocalProperty(BATCH_ID)
            : task.getLocalProperty(BATCH_ID);
    return id == null ? 0 : Long.parseLong(id);
  }
}
