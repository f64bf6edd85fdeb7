package dev.joinery.kernel.kafka;

import java.util.Map;
import java.util.ServiceLoader;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.sources.DataSourceRegister;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * The format {@code kafka} of Spark, whose batches {@link
 * dev.joinery.kernel.admission.BatchSize} bounds: its options, and those of {@link
 * dev.joinery.kernel.admission.BatchOptions}.
 */
public final class KafkaSource implements TableProvider {
  private static final String FORMAT = "kafka";
  private final TableProvider connector;

  /** Made by Spark, by name. */
  public KafkaSource() {
    ClassLoader loader = Thread.currentThread().getContextClassLoader();
    connector =
        ServiceLoader.load(DataSourceRegister.class, loader).stream()
            .filter(each -> TableProvider.class.isAssignableFrom(each.type()))
            .map(ServiceLoader.Provider::get)
            .filter(each -> each.shortName().equals(FORMAT))
            .map(TableProvider.class::cast)
            .findFirst()
            .orElseThrow(() -> new IllegalStateException("Spark's Kafka connector is not there"));
  }

  @Override
  public StructType inferSchema(CaseInsensitiveStringMap options) {
    return connector.inferSchema(options);
  }

  @Override
  public Table getTable(
      StructType schema, Transform[] partitioning, Map<String, String> properties) {
    return new KafkaTable(connector.getTable(schema, partitioning, properties), schema);
  }
}
