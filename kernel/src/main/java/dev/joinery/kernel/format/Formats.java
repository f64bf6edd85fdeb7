package dev.joinery.kernel.format;

import java.util.List;

/** The formats by their names in a project file. */
public final class Formats {
  private Formats() {}

  /**
   * Returns a format for each relation.
   *
   * @param relationsJson a list of {@code {"name", "format", "key": [name], "columns": [{"name",
   *     "type": Spark DDL}], "position": name or null, "timeUnit": micros, millis or nanos}}; the
   *     columns are those of the rows, in their order, and hold the key
   */
  public static Format[] of(String relationsJson) {
    List<RelationSpec> specs = RelationSpec.listOf(relationsJson);
    return specs.stream().map(Formats::of).toArray(Format[]::new);
  }

  private static Format of(RelationSpec spec) {
    return switch (spec.format()) {
      case "debezium-json" -> new DebeziumJson(spec);
      case "json" -> new FlatJson(spec);
      default ->
          throw new IllegalArgumentException(
              "relation \"" + spec.name() + "\": no format \"" + spec.format() + "\"");
    };
  }
}
