package dev.joinery.kernel.node;

import dev.joinery.kernel.message.Counters;
import dev.joinery.kernel.program.CompiledAssembler;
import dev.joinery.kernel.program.CompiledProgram;
import dev.joinery.kernel.program.Program;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.types.StructType;
import scala.jdk.javaapi.CollectionConverters;

/** What the nodes of a program share: compiled assemblers, relations and counters. */
public final class NodeContext {
  private final CompiledProgram compiled;
  private final Supplier<String> watermarks;
  private final Searches searches;
  private final Counters counters = new Counters();
  private final Map<Integer, Assembler> assemblers = new HashMap<>();
  private final Map<Integer, RelationRows> relations = new HashMap<>();

  /** {@code watermarks} gives those before a batch, as {@link BatchWatermarks#told} does. */
  public NodeContext(CompiledProgram compiled, Supplier<String> watermarks) {
    this(compiled, watermarks, new Searches());
  }

  /** {@code searches} are those that the tasks of a worker share. */
  public NodeContext(CompiledProgram compiled, Supplier<String> watermarks, Searches searches) {
    this.compiled = compiled;
    this.watermarks = watermarks;
    this.searches = searches;
  }

  Searches searches() {
    return searches;
  }

  public Program program() {
    return compiled.program();
  }

  public Counters counters() {
    return counters;
  }

  CompiledAssembler compiledAssembler(int index) {
    return compiled.assemblers().get(index);
  }

  public Assembler assembler(int index) {
    return assemblers.computeIfAbsent(
        index, each -> new Assembler(compiled.assemblers().get(each)));
  }

  /** The product that an assembler works for: the first part of its name. */
  public String productOf(int assembler) {
    return compiled.program().assemblers().get(assembler).name().split("/", 2)[0];
  }

  public RelationRows rows(int relation) {
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

  /** What gives the row that products see of a relation. */
  Assembler view(int relation) {
    return assembler(program().relations().get(relation).assembler());
  }

  /** The columns of a relation's row as products see it. */
  List<Program.Slot> visible(int relation) {
    return slotsOf(visibleType(relation));
  }

  /** The type of a relation's row as products see it. */
  StructType visibleType(int relation) {
    int assembler = program().relations().get(relation).assembler();
    return program().assemblers().get(assembler).type();
  }

  public static List<Program.Slot> slotsOf(StructType type) {
    return Arrays.stream(type.fields())
        .map(field -> new Program.Slot(field.name(), field.dataType()))
        .toList();
  }

  /** The key columns of a relation's visible row, under their own names. */
  public UnsafeProjection keyProjection(int relation) {
    List<Expression> columns = new ArrayList<>();
    for (int ordinal : program().relations().get(relation).key()) {
      columns.add(new BoundReference(ordinal, visible(relation).get(ordinal).type(), true));
    }
    return UnsafeProjection.create(CollectionConverters.asScala(columns).toSeq());
  }

  /** What the driver tells of the watermarks before the batch; null for nothing. */
  public String watermarks() {
    return watermarks.get();
  }

  /** The compiled aggregates of an arm of a match, made again for each node. */
  public Aggregates aggregates(int node, int arm) {
    return new Aggregates(compiled.aggregates().get(node).get(arm));
  }
}
