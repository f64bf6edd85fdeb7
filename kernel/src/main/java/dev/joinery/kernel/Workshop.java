package dev.joinery.kernel;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.types.StructType;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The nodes of a program and what they share: compiled assemblers, relations and counters.
 *
 * <p>One belongs to one task at a time and is used from one thread. Nodes remember nothing between
 * addresses, so the next task may have it.
 */
final class Workshop {
  private final CompiledProgram compiled;
  private final Counters counters = new Counters();
  private final Map<Integer, Assembler> assemblers = new HashMap<>();
  private final Map<Integer, RelationRows> relations = new HashMap<>();
  private final Node[] nodes;

  Workshop(CompiledProgram compiled) {
    this.compiled = compiled;
    this.nodes = new Node[compiled.program().nodes().size()];
  }

  Program program() {
    return compiled.program();
  }

  Node node(int index) {
    if (nodes[index] == null) {
      Program.NodeProgram program = program().nodes().get(index);
      if (program instanceof Program.RetractProgram retract) {
        nodes[index] = new Retract(retract, this);
      } else if (program instanceof Program.LookupProgram lookup) {
        nodes[index] = new Lookup(lookup, this);
      } else if (program instanceof Program.MatchProgram match) {
        nodes[index] = new Match(index, match, this);
      } else if (program instanceof Program.EnrichProgram enrich) {
        nodes[index] = new Enrich(enrich, this);
      } else if (program instanceof Program.AsOfProgram asOf) {
        nodes[index] = new AsOf(asOf, this);
      } else if (program instanceof Program.ClaimProgram claim) {
        nodes[index] = new Claim(claim, this);
      } else {
        nodes[index] = new Fold((Program.FoldProgram) program, this);
      }
    }
    return nodes[index];
  }

  Counters counters() {
    return counters;
  }

  Assembler assembler(int index) {
    return assemblers.computeIfAbsent(
        index, each -> new Assembler(compiled.assemblers().get(each)));
  }

  /** The product that an assembler works for: the first part of its name. */
  String productOf(int assembler) {
    return compiled.program().assemblers().get(assembler).name().split("/", 2)[0];
  }

  RelationRows rows(int relation) {
    return relations.computeIfAbsent(
        relation,
        each -> {
          Program.RelationProgram program = program().relations().get(each);
          return new RelationRows(
              program,
              compiled.assemblers().get(program.assembler()),
              program().tombstoneRetentionMicros(),
              counters);
        });
  }

  /** The columns of a relation's row as products see it. */
  List<Program.Slot> visible(int relation) {
    int assembler = program().relations().get(relation).assembler();
    return slotsOf(program().assemblers().get(assembler).type());
  }

  static List<Program.Slot> slotsOf(StructType type) {
    return Arrays.stream(type.fields())
        .map(field -> new Program.Slot(field.name(), field.dataType()))
        .toList();
  }

  /** The key columns of a relation's visible row, under their own names. */
  UnsafeProjection keyProjection(int relation) {
    List<Expression> columns = new ArrayList<>();
    for (int ordinal : program().relations().get(relation).key()) {
      columns.add(new BoundReference(ordinal, visible(relation).get(ordinal).type(), true));
    }
    return UnsafeProjection.create(CollectionConverters.asScala(columns).toSeq());
  }

  /** The compiled aggregates of an arm of a match, made anew for each node. */
  Aggregates aggregates(int node, int arm) {
    return new Aggregates(compiled.aggregates().get(node).get(arm));
  }
}
