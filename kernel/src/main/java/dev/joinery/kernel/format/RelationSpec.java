package dev.joinery.kernel.format;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.joinery.kernel.bytes.TypeText;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.types.DataType;

/**
 * What a format needs to know of a relation; types are read where it is made, not in each task.
 *
 * @param position the column that holds the source's position, null where the format has its own
 * @param timeUnit what a timestamp's number counts: {@code micros}, {@code millis}, {@code nanos}
 * @param told the columns that a delete of a flat row tells beside the key
 * @param logged the column with the time at which the log took a record, null for none
 * @param registry where the schemas of its messages are, null where they need none
 */
record RelationSpec(
    String name,
    String format,
    List<String> key,
    List<String> columns,
    List<DataType> types,
    String position,
    String timeUnit,
    List<String> told,
    String logged,
    RegistryOptions registry)
    implements Serializable {

  static List<RelationSpec> listOf(String json) {
    JsonNode list;
    try {
      list = new ObjectMapper().readTree(json);
    } catch (JsonProcessingException notJson) {
      throw new IllegalArgumentException("relations are not JSON", notJson);
    }
    List<RelationSpec> specs = new ArrayList<>();
    list.forEach(each -> specs.add(of(each)));
    return specs;
  }

  private static RelationSpec of(JsonNode node) {
    List<String> key = new ArrayList<>();
    List<String> columns = new ArrayList<>();
    List<DataType> types = new ArrayList<>();
    node.path("key").forEach(each -> key.add(each.asText()));
    List<String> told = new ArrayList<>();
    node.path("told").forEach(each -> told.add(each.asText()));
    for (JsonNode column : node.path("columns")) {
      columns.add(column.path("name").asText());
      types.add(TypeText.read(column.path("type").asText()));
    }
    String name = node.path("name").asText();
    if (!columns.containsAll(key)) {
      throw new IllegalArgumentException(
          "relation \"" + name + "\": its columns do not hold its key " + key);
    }
    JsonNode position = node.path("position");
    return new RelationSpec(
        name,
        node.path("format").asText(),
        List.copyOf(key),
        List.copyOf(columns),
        List.copyOf(types),
        position.isTextual() ? position.asText() : null,
        node.path("timeUnit").asText("micros"),
        List.copyOf(told),
        node.path("logged").isTextual() ? node.get("logged").asText() : null,
        node.path("registry").isObject() ? RegistryOptions.of(node.get("registry")) : null);
  }

  Temporals.Unit unit() {
    return switch (timeUnit) {
      case "millis" -> Temporals.Unit.MILLIS;
      case "nanos" -> Temporals.Unit.NANOS;
      case "micros" -> Temporals.Unit.MICROS;
      default -> throw new IllegalArgumentException("no time unit " + timeUnit);
    };
  }
}
