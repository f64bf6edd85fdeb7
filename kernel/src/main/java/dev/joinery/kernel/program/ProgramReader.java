package dev.joinery.kernel.program;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import java.util.stream.IntStream;
import org.apache.spark.sql.catalyst.parser.CatalystSqlParser$;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;

/** Reads a program from the JSON that the planner writes; types are Spark DDL text. */
public final class ProgramReader {
  private ProgramReader() {}

  public static Program read(String json) {
    try {
      return program(new ObjectMapper().readTree(json));
    } catch (JsonProcessingException error) {
      throw new IllegalArgumentException("the kernel program is not JSON", error);
    }
  }

  private static Program program(JsonNode node) {
    return new Program(
        node.get("levels").asInt(),
        list(node.get("relations"), ProgramReader::relation),
        nodes(node.get("nodes")),
        list(node.get("assemblers"), ProgramReader::assembler),
        list(node.get("products"), ProgramReader::product),
        list(node.get("routes"), ProgramReader::route),
        node.has("entries") ? list(node.get("entries"), ProgramReader::entry) : List.of(),
        node.get("tombstone_retention_micros").asLong(),
        node.get("max_document_bytes").asLong());
  }

  private static Program.RelationProgram relation(JsonNode node) {
    return new Program.RelationProgram(
        text(node, "name"),
        list(node.get("columns"), ProgramReader::slot),
        ints(node.get("key")),
        node.get("assembler").asInt());
  }

  private static Program.Route route(JsonNode node) {
    return new Program.Route(
        node.get("relation").asInt(),
        node.get("node").asInt(),
        node.get("role").asInt(),
        address(node.get("address")));
  }

  private static Program.ProductProgram product(JsonNode node) {
    return new Program.ProductProgram(
        text(node, "name"), struct(node.get("key")), struct(node.get("value")));
  }

  private static Program.Slot slot(JsonNode node) {
    return new Program.Slot(text(node, "name"), type(node.get("type")));
  }

  private static Program.Sql sql(JsonNode node) {
    if (absent(node)) {
      return null;
    }
    return new Program.Sql(
        text(node, "sql"),
        list(
            node.get("scope"),
            name ->
                new Program.ScopeName(
                    text(name, "name"), name.get("slot").asInt(), type(name.get("type")))),
        type(node.get("type")));
  }

  private static Program.AssemblerProgram assembler(JsonNode node) {
    List<JsonNode> order = list(node.get("order"), each -> each);
    boolean[] descending = new boolean[order.size()];
    for (int i = 0; i < descending.length; i++) {
      descending[i] = order.get(i).get("descending").asBoolean();
    }
    return new Program.AssemblerProgram(
        text(node, "name"),
        list(node.get("own"), ProgramReader::slot),
        list(node.get("inputs"), ProgramReader::slot),
        list(node.get("steps"), ProgramReader::sql),
        sql(node.get("where")),
        order.stream().map(each -> sql(each.get("expression"))).toList(),
        descending,
        ints(node.get("output")),
        struct(node.get("type")));
  }

  private static List<Program.NodeProgram> nodes(JsonNode nodes) {
    return IntStream.range(0, nodes.size()).mapToObj(each -> node(each, nodes.get(each))).toList();
  }

  private static Program.NodeProgram node(int index, JsonNode node) {
    return switch (text(node, "kind")) {
      case "retract" ->
          new Program.RetractProgram(
              text(node, "name"),
              node.get("level").asInt(),
              node.get("relation").asInt(),
              list(node.get("uses"), ProgramReader::use));
      case "lookup" -> lookup(node);
      case "match" -> match(node);
      case "enrich" -> enrich(node);
      case "as_of" -> asOf(index, node);
      case "claim" -> claim(index, node);
      case "map" ->
          new Program.MapProgram(
              text(node, "name"),
              node.get("level").asInt(),
              text(node, "owner"),
              struct(node.get("key")),
              struct(node.get("event")),
              struct(node.get("output")),
              list(node.get("onward"), ProgramReader::onward));
      case "fold" -> fold(node);
      default -> throw new IllegalArgumentException("no node of kind " + text(node, "kind"));
    };
  }

  private static Program.EntryProgram entry(JsonNode node) {
    return new Program.EntryProgram(
        node.get("relation").asInt(), list(node.get("onward"), ProgramReader::onward));
  }

  private static Program.Onward onward(JsonNode node) {
    JsonNode address = node.get("address");
    return new Program.Onward(
        node.get("assembler").asInt(),
        node.get("target").asInt(),
        node.get("product").asInt(),
        absent(address) ? null : address(address),
        node.path("marked").asBoolean());
  }

  private static Program.EnrichProgram enrich(JsonNode node) {
    return new Program.EnrichProgram(
        text(node, "name"),
        node.get("level").asInt(),
        text(node, "owner"),
        node.get("relation").asInt(),
        struct(node.get("key")),
        struct(node.get("event")),
        node.get("fields").asInt(),
        Program.Miss.valueOf(text(node, "miss").toUpperCase(java.util.Locale.ROOT)),
        node.get("wait_micros").asLong(),
        node.get("for_micros").asLong(),
        node.get("every_micros").asLong(),
        node.get("where").asInt(),
        list(node.get("onward"), ProgramReader::onward));
  }

  private static Program.AsOfProgram asOf(int index, JsonNode node) {
    return new Program.AsOfProgram(
        text(node, "name"),
        node.get("level").asInt(),
        text(node, "owner"),
        node.get("relation").asInt(),
        struct(node.get("key")),
        struct(node.get("event")),
        node.get("fields").asInt(),
        Program.Miss.valueOf(text(node, "miss").toUpperCase(java.util.Locale.ROOT)),
        address(node.get("on")),
        address(node.get("table")),
        node.get("event_time").asInt(),
        node.get("valid_from").asInt(),
        node.get("max_delay_micros").asLong(),
        node.get("idle_micros").asLong(),
        node.get("history_micros").asLong(),
        node.get("corrects").asBoolean(),
        Buckets.of(index, node.get("buckets").asInt()),
        list(node.get("onward"), ProgramReader::onward));
  }

  private static Program.ClaimProgram claim(int index, JsonNode node) {
    return new Program.ClaimProgram(
        text(node, "name"),
        node.get("level").asInt(),
        text(node, "owner"),
        struct(node.get("event")),
        address(node.get("on")),
        node.get("target").asInt(),
        Buckets.of(index, node.get("buckets").asInt()),
        node.get("keep_micros").asLong(),
        node.get("event_time").asInt(),
        node.get("max_delay_micros").asLong(),
        node.get("idle_micros").asLong());
  }

  private static Program.Use use(JsonNode node) {
    return switch (text(node, "use")) {
      case "own" -> new Program.OwnUse(node.get("target").asInt());
      case "parent" ->
          new Program.ParentUse(
              node.get("target").asInt(),
              address(node.get("address")),
              node.get("fold").asInt(),
              ints(node.get("branches")),
              node.get("merged").asBoolean());
      case "child" ->
          new Program.ChildUse(node.get("assembler").asInt(), upward(node.get("upward")));
      default -> throw new IllegalArgumentException("no use " + text(node, "use"));
    };
  }

  private static Program.LookupProgram lookup(JsonNode node) {
    JsonNode merge = node.get("merge");
    return new Program.LookupProgram(
        text(node, "name"),
        node.get("level").asInt(),
        node.get("child_relation").asInt(),
        node.get("child_assembler").asInt(),
        struct(node.get("child_type")),
        node.get("parent_relation").asInt(),
        node.get("fold").asInt(),
        node.get("branch").asInt(),
        absent(merge)
            ? null
            : new Program.Merge(
                merge.get("assembler").asInt(),
                merge.get("relation").asInt(),
                upward(merge.get("upward"))));
  }

  private static Program.MatchProgram match(JsonNode node) {
    return new Program.MatchProgram(
        text(node, "name"),
        node.get("level").asInt(),
        list(node.get("arms"), ProgramReader::arm),
        node.get("fold").asInt());
  }

  private static Program.ArmProgram arm(JsonNode node) {
    return new Program.ArmProgram(
        text(node, "name"),
        struct(node.get("child_type")),
        node.get("limit").asInt(),
        node.get("one").asBoolean(),
        node.get("entries").asBoolean(),
        node.get("total").asBoolean(),
        list(node.get("aggregates"), ProgramReader::aggregate),
        node.get("branch").asInt());
  }

  private static Program.AggregateProgram aggregate(JsonNode node) {
    return new Program.AggregateProgram(
        text(node, "function"),
        sql(node.get("argument")),
        sql(node.get("filter")),
        type(node.get("type")));
  }

  private static Program.FoldProgram fold(JsonNode node) {
    return new Program.FoldProgram(
        text(node, "name"),
        node.get("level").asInt(),
        node.get("relation").asInt(),
        node.get("raw").asBoolean(),
        list(node.get("branches"), ProgramReader::branch),
        node.get("assembler").asInt(),
        node.get("product").asInt(),
        upward(node.get("upward")));
  }

  private static Program.BranchProgram branch(JsonNode node) {
    return new Program.BranchProgram(
        text(node, "name"),
        Program.Shape.valueOf(text(node, "shape").toUpperCase(java.util.Locale.ROOT)),
        struct(node.get("type")),
        node.get("fused").asBoolean(),
        types(node.get("key_types")),
        node.get("total").asBoolean(),
        node.get("fail_above").asInt(),
        list(node.get("aggregates"), ProgramReader::aggregate));
  }

  private static Program.Upward upward(JsonNode node) {
    return absent(node)
        ? null
        : new Program.Upward(
            node.get("target").asInt(), node.get("branch").asInt(), address(node.get("address")));
  }

  private static Program.Address address(JsonNode node) {
    return new Program.Address(ints(node.get("ordinals")), types(node.get("types")));
  }

  private static boolean absent(JsonNode node) {
    return node == null || node.isNull();
  }

  private static String text(JsonNode node, String name) {
    return node.get(name).asText();
  }

  private static DataType type(JsonNode node) {
    return CatalystSqlParser$.MODULE$.parseDataType(node.asText());
  }

  private static DataType[] types(JsonNode node) {
    return list(node, ProgramReader::type).toArray(new DataType[0]);
  }

  private static StructType struct(JsonNode node) {
    return (StructType) type(node);
  }

  private static int[] ints(JsonNode node) {
    return list(node, JsonNode::asInt).stream().mapToInt(Integer::intValue).toArray();
  }

  private static <T> List<T> list(JsonNode node, Function<JsonNode, T> read) {
    List<T> result = new ArrayList<>();
    node.forEach(each -> result.add(read.apply(each)));
    return java.util.Collections.unmodifiableList(result);
  }
}
