package dev.joinery.kernel.chain;

import dev.joinery.kernel.program.Program;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * A node of a document under test: all columns of a table, then its embeds.
 *
 * @param on pairs "child=parent"
 * @param where a boolean column of the table, or null
 * @param order a column of the table, or null
 * @param aggregates "function:column" over this embed, shown by the parent; columns are longs
 */
public record Tree(
    String name,
    Table table,
    boolean many,
    List<String> on,
    String where,
    String order,
    boolean descending,
    int limit,
    List<String> aggregates,
    List<Tree> embeds) {

  public static Tree root(String name, Table table, Tree... embeds) {
    return new Tree(name, table, true, List.of(), null, null, false, 0, List.of(), List.of(embeds));
  }

  static Tree many(String name, Table table, String on, Tree... embeds) {
    return new Tree(
        name, table, true, List.of(on.split(",")), null, null, false, 0, List.of(),
        List.of(embeds));
  }

  static Tree one(String name, Table table, String on, Tree... embeds) {
    return new Tree(
        name, table, false, List.of(on.split(",")), null, null, false, 0, List.of(),
        List.of(embeds));
  }

  Tree where(String column) {
    return new Tree(
        name, table, many, on, column, order, descending, limit, aggregates, embeds);
  }

  Tree order(String column, boolean isDescending) {
    return new Tree(
        name, table, many, on, where, column, isDescending, limit, aggregates, embeds);
  }

  Tree limit(int rows) {
    return new Tree(name, table, many, on, where, order, descending, rows, aggregates, embeds);
  }

  Tree aggregates(String... wanted) {
    return new Tree(
        name, table, many, on, where, order, descending, limit, List.of(wanted), embeds);
  }

  List<String> childColumns() {
    return on.stream().map(pair -> pair.split("=")[0]).toList();
  }

  List<String> parentColumns() {
    return on.stream().map(pair -> pair.split("=")[1]).toList();
  }

  boolean hasTotal() {
    return many && limit > 0;
  }

  /** What a parent sees of this embed: its value, its total, its aggregates. */
  List<Program.Slot> inputs() {
    List<Program.Slot> slots = new ArrayList<>();
    slots.add(new Program.Slot(name, many ? new ArrayType(output(), false) : output()));
    if (hasTotal()) {
      slots.add(new Program.Slot(name + "_total", DataTypes.LongType));
    }
    for (Program.AggregateProgram aggregate : aggregatePrograms()) {
      String column = aggregate.argument().text();
      slots.add(
          new Program.Slot(name + "_" + aggregate.function() + "_" + column, aggregate.type()));
    }
    return slots;
  }

  List<Program.AggregateProgram> aggregatePrograms() {
    List<Program.AggregateProgram> programs = new ArrayList<>();
    for (String each : aggregates) {
      String[] parts = each.split(":");
      programs.add(
          Program.AggregateProgram.of(parts[0], column(parts[1]), null, DataTypes.LongType));
    }
    return programs;
  }

  /** A column of the table as an expression; its slot in a row and in the output is the same. */
  Program.Sql column(String column) {
    int ordinal = table.ordinal(column);
    DataType type = table.type().fields()[ordinal].dataType();
    return new Program.Sql(
        column, List.of(new Program.ScopeName(column, ordinal, type)), type);
  }

  StructType output() {
    StructType type = table.type();
    for (Tree embed : embeds) {
      for (Program.Slot slot : embed.inputs()) {
        type = type.add(slot.name(), slot.type(), true);
      }
    }
    return type;
  }
}
