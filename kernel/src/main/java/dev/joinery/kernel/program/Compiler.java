package dev.joinery.kernel.program;

import dev.joinery.kernel.bytes.KeyCodec;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.EvalMode;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.optimizer.ReplaceExpressions$;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.types.DataTypeUtils$;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Turns the SQL text of a program into Catalyst expressions bound to slots, on the driver.
 *
 * <p>Spark's analyser resolves each text over the names its scope gives; the settings that decide
 * what an expression means are fixed here, in a session of our own, whatever the user's are.
 */
public final class Compiler {
  private static final int INLINED_NODES = 2000;

  /** The functions that ask in which order rows are, be it that of the log alone. */
  private static final Set<String> ORDERED = Set.of("first", "last", "collect");

  private final Supplier<SparkSession> userSession;
  private SparkSession ownSession;

  /**
   * {@code userSession} is needed only where a text is more than a column. Neither its settings nor
   * the functions that a user registered in it matter; what {@code spark.sql.extensions} gave it,
   * functions, rules or a parser, every session of the same context has.
   */
  public Compiler(SparkSession userSession) {
    this.userSession = () -> userSession;
  }

  private Compiler(Supplier<SparkSession> userSession) {
    this.userSession = userSession;
  }

  /** The same, of a session that is not opened before it is needed. */
  public static Compiler opening(Supplier<SparkSession> session) {
    return new Compiler(session);
  }

  private SparkSession session() {
    if (ownSession == null) {
      ownSession = userSession.get().newSession();
      ownSession.sessionState().conf().clear();
      ownSession.conf().set("spark.sql.ansi.enabled", "true");
      ownSession.conf().set("spark.sql.session.timeZone", "UTC");
      ownSession.conf().set("spark.sql.caseSensitive", "true");
      ownSession.conf().set("spark.sql.alwaysInlineCommonExpr", "true");
    }
    return ownSession;
  }

  public CompiledProgram compile(Program program) {
    List<CompiledAssembler> assemblers = new ArrayList<>();
    for (Program.AssemblerProgram assembler : program.assemblers()) {
      assemblers.add(compile(assembler));
    }
    List<List<List<CompiledAggregate>>> aggregates = new ArrayList<>();
    for (Program.NodeProgram node : program.nodes()) {
      aggregates.add(aggregates(node, program));
    }
    return new CompiledProgram(program, assemblers, aggregates);
  }

  public CompiledAssembler compile(Program.AssemblerProgram program) {
    int given = program.own().size() + program.inputs().size();
    List<DataType> types = new ArrayList<>();
    program.own().forEach(slot -> types.add(slot.type()));
    program.inputs().forEach(slot -> types.add(slot.type()));
    program.steps().forEach(step -> types.add(step.type()));
    List<Expression> steps = new ArrayList<>();
    for (Program.Sql step : program.steps()) {
      steps.add(bind(step));
    }
    Expression where = program.where() == null ? null : bind(program.where());
    List<Expression> order = new ArrayList<>();
    for (Program.OrderColumn key : program.order()) {
      order.add(bind(key.expression()));
    }
    List<Expression> output = new ArrayList<>();
    for (int slot : program.output()) {
      output.add(new BoundReference(slot, types.get(slot), true));
    }
    return new CompiledAssembler(
        program, given, types, steps, where, order, output, inliner(steps, given));
  }

  private List<List<CompiledAggregate>> aggregates(Program.NodeProgram node, Program program) {
    List<List<CompiledAggregate>> plans = new ArrayList<>();
    if (node instanceof DocumentProgram.MatchProgram match) {
      match.arms().forEach(arm -> plans.add(aggregates(arm.aggregates(), null)));
    } else if (node instanceof DocumentProgram.FoldProgram fold) {
      for (DocumentProgram.BranchProgram branch : fold.branches()) {
        plans.add(branch.isCounting() ? aggregates(branch.aggregates(), null) : List.of());
      }
    } else if (node instanceof GroupProgram group) {
      StructType input = program.assemblers().get(group.input()).type();
      plans.add(aggregates(group.aggregates(), input));
    } else if (node instanceof PatternProgram pattern) {
      for (PatternProgram.ReadProgram read : pattern.reads()) {
        boolean none = read.aggregate() == null;
        plans.add(none ? List.of() : aggregates(List.of(read.aggregate()), null));
      }
    } else if (node instanceof StreamProgram.RollingProgram rolling) {
      plans.add(aggregates(rolling.aggregates(), rolling.event()));
    }
    return plans;
  }

  List<CompiledAggregate> aggregates(List<Program.AggregateProgram> programs, StructType row) {
    List<CompiledAggregate> plans = new ArrayList<>();
    for (Program.AggregateProgram program : programs) {
      plans.add(
          new CompiledAggregate(
              program.function(),
              program.argument() == null ? null : bind(program.argument()),
              program.filter() == null ? null : bind(program.filter()),
              program.type(),
              program.byValue(),
              ORDERED.contains(program.function()) ? codec(program.order(), row) : null,
              program.numbers()));
    }
    return plans;
  }

  private static KeyCodec codec(int[] ordinals, StructType row) {
    List<KeyCodec.Column> columns = new ArrayList<>();
    for (int each : ordinals) {
      DataType type = row.fields()[each].dataType();
      columns.add(new KeyCodec.Column(each, type, type, false));
    }
    return new KeyCodec(columns);
  }

  /** Compiles expressions over one row, whose columns are the slots. */
  Expression bind(Program.Sql sql) {
    if (isColumn(sql)) {
      return new BoundReference(sql.scope().get(0).slot(), sql.type(), true);
    }
    StructType type = new StructType();
    for (Program.ScopeName name : sql.scope()) {
      type = type.add(name.name(), name.type(), true);
    }
    Dataset<Row> scope = session().createDataFrame(List.<Row>of(), type);
    LogicalPlan plan =
        ReplaceExpressions$.MODULE$.apply(
            scope.selectExpr(sql.text()).queryExecution().analyzed());
    Project project = (Project) plan;
    List<Attribute> attributes = CollectionConverters.asJava(project.child().output());
    Map<ExprId, Expression> bound = new HashMap<>();
    for (int i = 0; i < attributes.size(); i++) {
      Program.ScopeName name = sql.scope().get(i);
      bound.put(attributes.get(i).exprId(), new BoundReference(name.slot(), name.type(), true));
    }
    Expression expression = (Expression) project.projectList().head();
    if (expression instanceof Alias alias) {
      expression = alias.child();
    }
    expression = replaceAttributes(expression, bound);
    if (DataTypeUtils$.MODULE$.equalsIgnoreNullability(expression.dataType(), sql.type())) {
      return expression;
    }
    return new Cast(expression, sql.type(), scala.Option.apply("UTC"), EvalMode.ANSI());
  }

  private static boolean isColumn(Program.Sql sql) {
    if (sql.scope().size() != 1 || !sql.scope().get(0).type().equals(sql.type())) {
      return false;
    }
    String name = sql.scope().get(0).name();
    return sql.text().equals(name) || sql.text().equals("`" + name.replace("`", "``") + "`");
  }

  private static Expression replaceAttributes(Expression tree, Map<ExprId, Expression> bound) {
    if (tree instanceof AttributeReference attribute && bound.containsKey(attribute.exprId())) {
      return bound.get(attribute.exprId());
    }
    return (Expression) tree.mapChildren(child -> replaceAttributes((Expression) child, bound));
  }

  /** Expressions over given slots only, or null where inlining the steps would grow too large. */
  private static List<Expression> inliner(List<Expression> steps, int given) {
    List<Expression> inlined = new ArrayList<>();
    int nodes = 0;
    for (Expression step : steps) {
      Expression whole = inline(step, inlined, given);
      nodes += size(whole);
      if (nodes > INLINED_NODES) {
        return null;
      }
      inlined.add(whole);
    }
    return inlined;
  }

  static Expression inline(Expression tree, List<Expression> inlined, int given) {
    if (tree instanceof BoundReference slot && slot.ordinal() >= given) {
      return inlined.get(slot.ordinal() - given);
    }
    return (Expression) tree.mapChildren(child -> inline((Expression) child, inlined, given));
  }

  private static int size(Expression tree) {
    AtomicInteger nodes = new AtomicInteger();
    tree.foreach(
        node -> {
          nodes.incrementAndGet();
          return scala.runtime.BoxedUnit.UNIT;
        });
    return nodes.get();
  }
}
