package dev.joinery.kernel.stream;

import dev.joinery.kernel.bytes.BinaryRow;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.Event;
import dev.joinery.kernel.message.Message;
import dev.joinery.kernel.message.Outbox;
import dev.joinery.kernel.node.Assembler;
import dev.joinery.kernel.node.NodeContext;
import dev.joinery.kernel.program.Buckets;
import dev.joinery.kernel.program.Program;
import dev.joinery.kernel.program.StreamProgram;
import java.util.Arrays;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;

/**
 * What follows on a lookup, or on the start of a stream: shapes an event by the steps up to the
 * next lookup, then sends it there, or out as a document. Remembers nothing between events.
 */
public final class Onward {
  private final StreamProgram.Onward program;
  private final NodeContext context;
  private final Assembler assembler;
  private final UnsafeRow own;
  private final JoinAddress address;
  private final Buckets buckets;
  private final String owner;

  public Onward(StreamProgram.Onward program, NodeContext context) {
    Program.AssemblerProgram shape = context.program().assemblers().get(program.assembler());
    this.program = program;
    this.context = context;
    this.assembler = context.assembler(program.assembler());
    this.own = new UnsafeRow(shape.own().size());
    this.buckets =
        program.target() < 0 ? Buckets.NONE : context.program().buckets().get(program.target());
    this.address =
        program.address() == null
            ? null
            : new JoinAddress(
                context.program(), program.target(), program.address(), shape.type());
    this.owner = context.productOf(program.assembler());
  }

  /** Sends an event that met {@code inputs}, unless a filter keeps it. */
  public void send(Event event, Object[] inputs, Outbox outbox) {
    Object[] given = inputs;
    if (program.marked()) {
      given = Arrays.copyOf(inputs, inputs.length + 1);
      given[inputs.length] = event.correction();
    }
    boolean passes = assembler.assemble(event.row(), BinaryRow.point(own, event.row()), given);
    if (assembler.failures() > 0) {
      context.counters().product(owner, "expression_errors", assembler.failures());
    }
    if (!passes) {
      return;
    }
    Slice row = assembler.row();
    if (program.target() >= 0) {
      outbox.send(program.target(), addressOf(event, row), event.message(row));
    } else {
      outbox.emit(
          Message.line(
              event.timestamp(), program.product(), event.version(), event.place(), event.key(), row));
    }
  }

  private byte[] addressOf(Event event, Slice row) {
    if (address != null) {
      return address.of(event.key(), row);
    }
    // Before a claim, or a node that remembers nothing: what spreads the events.
    return buckets.of(event.key().toBytes());
  }
}
