package dev.joinery.kernel.files;

import java.util.Map;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * Spark's door to change files, {@code <path>/<topic>/*.jsonl}: options {@code path}, {@code
 * topics} (a JSON list), {@code maxRecordBytes}, {@code partitions}, and those of {@link
 * dev.joinery.kernel.admission.BatchOptions}. The rows are those of {@link FilesTable#SCHEMA}.
 */
public final class FilesSource implements TableProvider {
  /** Made by Spark, by name. */
  public FilesSource() {}

  @Override
  public StructType inferSchema(CaseInsensitiveStringMap options) {
    return FilesTable.SCHEMA;
  }

  @Override
  public Table getTable(
      StructType schema, Transform[] partitioning, Map<String, String> properties) {
    return new FilesTable();
  }
}
