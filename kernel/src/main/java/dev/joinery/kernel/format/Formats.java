package dev.joinery.kernel.format;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.SparkSession;

/** The formats by their names in a project file. */
public final class Formats {
  private Formats() {}

  /**
   * Returns a format for each relation, for the tasks of a session.
   *
   * @param relationsJson a list of {@code {"name", "format", "key": [name], "columns": [{"name",
   *     "type": Spark DDL}], "position": name or null, "timeUnit": micros, millis or nanos,
   *     "registry": null or {"url", "user", "password", "token", "waitMillis", "idBytes"}}}; the
   *     columns are those of the rows, in their order, and hold the key
   */
  public static Format[] of(String relationsJson, SparkSession session) {
    JavaSparkContext context = JavaSparkContext.fromSparkContext(session.sparkContext());
    Map<RegistryOptions, Schemas> shared = new HashMap<>();
    return of(
        relationsJson,
        options ->
            shared.computeIfAbsent(
                options, each -> new SharedSchemas(context.broadcast(new Registry(each)))));
  }

  /** Returns formats that need no schemas, for relations of {@code json}. */
  public static Format[] of(String relationsJson) {
    return of(relationsJson, options -> null);
  }

  /**
   * @param schemas where the schemas of a registry's messages come from
   */
  static Format[] of(String relationsJson, Function<RegistryOptions, Schemas> schemas) {
    List<RelationSpec> specs = RelationSpec.listOf(relationsJson);
    return specs.stream().map(each -> of(each, schemas)).toArray(Format[]::new);
  }

  private static Format of(RelationSpec spec, Function<RegistryOptions, Schemas> schemas) {
    return new RelationFormat(
        spec, RelationFormat.needsSchemas(spec) ? schemas(spec, schemas) : null);
  }

  private static Schemas schemas(
      RelationSpec spec, Function<RegistryOptions, Schemas> schemas) {
    return spec.registry() == null
        ? new NoRegistry(spec.name())
        : schemas.apply(spec.registry());
  }
}
