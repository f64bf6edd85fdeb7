package dev.joinery.kernel.chain;

import dev.joinery.kernel.bytes.BinaryRow;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.ingress.Ingress;
import dev.joinery.kernel.message.Change;
import dev.joinery.kernel.message.Outbox;
import dev.joinery.kernel.node.BatchWatermarks;
import dev.joinery.kernel.node.Node;
import dev.joinery.kernel.program.CompiledProgram;
import dev.joinery.kernel.program.Compiler;
import dev.joinery.kernel.program.Program;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Supplier;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.classic.SparkSession;

/** The nodes of a program, made once: they remember nothing between addresses. */
final class Chain {
  private final Program program;
  private final Node[] nodes;
  private final Ingress.Router router;
  private final Map<Table, UnsafeProjection> decoders = new HashMap<>();

  Chain(Program program) {
    this(program, null);
  }

  /** The same for a program with expressions that are more than a column. */
  Chain(Program program, SparkSession session) {
    this(program, session, BatchWatermarks::told);
  }

  /** The same, with what the driver tells of the watermarks before a batch. */
  Chain(Program program, SparkSession session, Supplier<String> watermarks) {
    this.program = program;
    this.router = new Ingress.Router(program);
    CompiledProgram compiled = new Compiler(session).compile(program);
    this.nodes = new Node[program.nodes().size()];
    for (int i = 0; i < nodes.length; i++) {
      nodes[i] = new Nodes(compiled, watermarks).node(i);
    }
  }

  Program program() {
    return program;
  }

  Node node(int index) {
    return nodes[index];
  }

  int levelOf(int node) {
    return program.nodes().get(node).level();
  }

  /** Sends a change as a decoder would. */
  void send(LogChange change, long timestamp, Outbox outbox) {
    Table table = change.table();
    int relation = 0;
    while (!program.relations().get(relation).name().equals(table.name())) {
      relation++;
    }
    UnsafeProjection decoder =
        decoders.computeIfAbsent(table, each -> UnsafeProjection.create(each.type()));
    boolean positioned = change.position() >= 0;
    Change told =
        new Change(
            change.op(), positioned, Math.max(change.position(), 0), 0, change.place(), null);
    Slice row = BinaryRow.copy(decoder.apply(table.internal(change.row())));
    router.send(relation, told, row, timestamp, outbox);
  }
}
