package dev.joinery.kernel.files;

import java.util.Set;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** Change files as a table of raw records. */
record FilesTable() implements Table, SupportsRead {
  /**
   * {@code topic} is the topic's place in the option, {@code major} and {@code minor} the place in
   * the log (the file's label, the line from 1), {@code error} is the reason why the
   * record is a dead letter, its value cut off ({@code too_large}), else null.
   */
  static final StructType SCHEMA =
      new StructType()
          .add("topic", DataTypes.IntegerType, false)
          .add("major", DataTypes.LongType, false)
          .add("minor", DataTypes.LongType, false)
          .add("file", DataTypes.StringType, false)
          .add("key", DataTypes.BinaryType)
          .add("value", DataTypes.BinaryType)
          .add("error", DataTypes.StringType);

  @Override
  public String name() {
    return "change files";
  }

  @Override
  @SuppressWarnings("deprecation")
  public StructType schema() {
    return SCHEMA;
  }

  @Override
  public Set<TableCapability> capabilities() {
    return Set.of(TableCapability.BATCH_READ, TableCapability.MICRO_BATCH_READ);
  }

  @Override
  public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
    return () -> new FilesScan(FilesOptions.of(options));
  }
}
