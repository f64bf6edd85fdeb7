package dev.joinery.kernel.program;

import dev.joinery.kernel.bytes.KeyCodec;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.types.DataType;

/**
 * The compiled expressions of an assembler, as they are shipped to the workers.
 *
 * <p>{@code steps}, {@code where}, {@code order} and {@code output} read all slots; {@code fast*}
 * are the same with every step inlined, and read the given slots only. They are null where inlining
 * would be larger than it is worth.
 */
public final class CompiledAssembler implements Serializable {
  final String name;
  public final int own;
  public final int given;
  public final List<DataType> types;
  public final List<Expression> steps;
  public final Expression where;
  public final List<Expression> order;
  public final List<Expression> output;
  public final boolean inlined;
  public final Expression fastWhere;
  public final List<Expression> fastOrder;
  public final List<Expression> fastOutput;
  public final KeyCodec orderCodec;

  CompiledAssembler(
      Program.AssemblerProgram program,
      int given,
      List<DataType> types,
      List<Expression> steps,
      Expression where,
      List<Expression> order,
      List<Expression> output,
      List<Expression> inlinedSteps) {
    this.name = program.name();
    this.own = program.own().size();
    this.given = given;
    this.types = types;
    this.steps = steps;
    this.where = where;
    this.order = order;
    this.output = output;
    this.inlined = inlinedSteps != null;
    this.fastWhere =
        where == null || !inlined ? null : Compiler.inline(where, inlinedSteps, given);
    this.fastOrder = inlined ? inlineAll(order, inlinedSteps, given) : null;
    this.fastOutput = inlined ? inlineAll(output, inlinedSteps, given) : null;
    this.orderCodec = orderCodec(program);
  }

  private static List<Expression> inlineAll(
      List<Expression> expressions, List<Expression> steps, int given) {
    List<Expression> result = new ArrayList<>();
    for (Expression expression : expressions) {
      result.add(Compiler.inline(expression, steps, given));
    }
    return result;
  }

  private static KeyCodec orderCodec(Program.AssemblerProgram program) {
    List<KeyCodec.Column> columns = new ArrayList<>();
    for (Program.OrderColumn each : program.order()) {
      DataType type = each.expression().type();
      columns.add(new KeyCodec.Column(columns.size(), type, type, each.descending()));
    }
    return new KeyCodec(columns);
  }

  /** True when the assembled row is the own row itself, byte for byte. */
  public boolean isIdentity() {
    if (!inlined || where != null || !order.isEmpty() || fastOutput.size() != own) {
      return false;
    }
    for (int i = 0; i < own; i++) {
      if (!(fastOutput.get(i) instanceof BoundReference slot) || slot.ordinal() != i) {
        return false;
      }
    }
    return true;
  }
}
