package dev.joinery.kernel.search;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.SparkConf;
import org.apache.spark.sql.AnalysisException;
import org.apache.spark.sql.catalyst.QueryPlanningTracker;
import org.apache.spark.sql.catalyst.analysis.Analyzer;
import org.apache.spark.sql.catalyst.analysis.FunctionRegistry$;
import org.apache.spark.sql.catalyst.analysis.TableFunctionRegistry$;
import org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute;
import org.apache.spark.sql.catalyst.analysis.UnresolvedFunction;
import org.apache.spark.sql.catalyst.catalog.InMemoryCatalog;
import org.apache.spark.sql.catalyst.catalog.SessionCatalog;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.CreateNamedStruct;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.ILike;
import org.apache.spark.sql.catalyst.expressions.IsNotNull;
import org.apache.spark.sql.catalyst.expressions.IsNull;
import org.apache.spark.sql.catalyst.expressions.LambdaFunction;
import org.apache.spark.sql.catalyst.expressions.Like;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.expressions.UnresolvedNamedLambdaVariable;
import org.apache.spark.sql.catalyst.optimizer.ReplaceExpressions$;
import org.apache.spark.sql.catalyst.parser.CatalystSqlParser$;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.types.DataTypeUtils$;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.internal.SQLConf$;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimestampType;
import scala.Function0;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Reads stored conditions over the columns of one row with Spark's parser and analyser, of which
 * neither needs a session; remembers what it made of each {@link Shape}.
 *
 * <p>Only names of operators and functions that are told are accepted, as in the portable subset
 * of expressions. It is not made for several threads.
 */
public final class Conditions implements Language {
  private static final int SHAPES = 20_000;
  private static final int AT_ONCE = 256;
  private static final Set<String> OPERATORS =
      Set.of(
          "Add", "And", "CaseWhen", "Cast", "Concat", "CreateNamedStruct", "Divide",
          "EqualNullSafe", "EqualTo", "GreaterThan",
          "GreaterThanOrEqual", "ILike", "In", "IntegralDivide", "LambdaFunction",
          "LessThan", "LessThanOrEqual", "Like", "Literal", "Multiply", "Not", "Or", "Remainder",
          "Subtract", "UnaryMinus", "UnaryPositive", "UnresolvedAttribute",
          "UnresolvedExtractValue", "UnresolvedFunction", "UnresolvedNamedLambdaVariable");
  private static final Pattern MOVING =
      Pattern.compile(
          "\\b(date|timestamp)\\s*r?['\"]\\s*(today|now|tomorrow|yesterday|epoch)",
          Pattern.CASE_INSENSITIVE);

  /** What was made of a shape: the expression with the literals that stand for its constants. */
  private record Template(Expression expression, List<Literal> places, String broken) {}

  /** A shape that is parsed and not yet analysed. */
  private record Parsed(Shape shape, Expression tree, List<Literal> places) {}

  private final Set<String> columns = new HashSet<>();
  private final Set<String> functions;
  private final int mostCharacters;
  private final SQLConf conf = new SQLConf();
  private final LocalRelation relation;
  private final Map<ExprId, BoundReference> bound = new HashMap<>();
  private final Map<String, Template> templates =
      new LinkedHashMap<>(256, 0.75f, true) {
        private static final long serialVersionUID = 1L;

        @Override
        protected boolean removeEldestEntry(Map.Entry<String, Template> eldest) {
          return size() > SHAPES;
        }
      };
  private Analyzer analyzer;

  /**
   * @param row what conditions see, by the place of each column
   * @param functions the names of functions that they may call
   */
  public Conditions(StructType row, Set<String> functions, int mostCharacters) {
    this.functions = functions;
    this.mostCharacters = mostCharacters;
    conf.setConfString("spark.sql.ansi.enabled", "true");
    conf.setConfString("spark.sql.session.timeZone", "UTC");
    conf.setConfString("spark.sql.caseSensitive", "true");
    conf.setConfString("spark.sql.alwaysInlineCommonExpr", "true");
    List<Attribute> attributes = new ArrayList<>();
    for (AttributeReference each :
        CollectionConverters.asJava(DataTypeUtils$.MODULE$.toAttributes(row))) {
      bound.put(each.exprId(), new BoundReference(attributes.size(), each.dataType(), true));
      attributes.add(each.withNullability(true));
      columns.add(each.name());
    }
    relation = new LocalRelation(seq(attributes), seq(List.of()), false, Option.empty());
  }

  private static <T> Seq<T> seq(List<T> list) {
    return CollectionConverters.asScala(list).toSeq();
  }

  /** Reads texts, each for itself; those of new shapes are analysed together. */
  @Override
  public List<Read> read(List<String> texts) {
    Function0<List<Read>> reading = () -> readAll(texts);
    return SQLConf$.MODULE$.withExistingConf(conf, reading);
  }

  @Override
  public Index index(Collection<StoredQuery> queries) {
    return new QueryIndex(queries);
  }

  private List<Read> readAll(List<String> texts) {
    List<Shape> shapes = new ArrayList<>();
    Map<String, Parsed> parsed = new LinkedHashMap<>();
    for (String text : texts) {
      Shape shape = Shape.of(text);
      shapes.add(shape);
      if (!templates.containsKey(shape.key()) && !parsed.containsKey(shape.key())) {
        parse(text, shape, parsed);
      }
    }
    analyse(new ArrayList<>(parsed.values()));
    List<Read> read = new ArrayList<>();
    for (int i = 0; i < texts.size(); i++) {
      read.add(instance(texts.get(i), shapes.get(i)));
    }
    return read;
  }

  private Read instance(String text, Shape shape) {
    try {
      return read(text, shape);
    } catch (StackOverflowError deep) {
      return new Read(null, reasonOf(deep));
    }
  }

  private Read read(String text, Shape shape) {
    if (text.codePointCount(0, text.length()) > mostCharacters) {
      return new Read(null, "the condition has more than " + mostCharacters + " characters");
    }
    Template template = templates.get(shape.key());
    if (template == null || (template.places() == null && template.broken() == null)) {
      // Forgotten among many, or of a shape whose constants cannot be found again.
      return readAlone(text);
    }
    if (template.broken() != null) {
      return new Read(null, template.broken());
    }
    IdentityHashMap<Expression, Expression> values = new IdentityHashMap<>();
    for (int i = 0; i < template.places().size(); i++) {
      values.put(template.places().get(i), shape.constants().get(i).value());
    }
    return new Read(new SqlCondition(folded(replaced(template.expression(), values))), null);
  }

  private Read readAlone(String text) {
    Shape alone = Shape.alone(text);
    if (!templates.containsKey(alone.key())) {
      Map<String, Parsed> parsed = new LinkedHashMap<>();
      parse(text, alone, parsed);
      analyse(new ArrayList<>(parsed.values()));
    }
    Template template = templates.get(alone.key());
    return template.broken() != null
        ? new Read(null, template.broken())
        : new Read(new SqlCondition(folded(template.expression())), null);
  }

  // From text to a tree

  private void parse(String text, Shape shape, Map<String, Parsed> parsed) {
    try {
      if (text.isBlank()) {
        throw new BrokenException("the condition is empty");
      }
      if (text.codePointCount(0, text.length()) > mostCharacters) {
        return; // of its shape others may be shorter
      }
      Costs.checkText(text);
      Expression tree = CatalystSqlParser$.MODULE$.parseExpression(text);
      check(tree, columns);
      Costs.check(tree);
      if (MOVING.matcher(text).find()) {
        throw new BrokenException("a date that changes every day");
      }
      parsed.put(shape.key(), new Parsed(shape, tree, placesOf(tree, shape)));
    } catch (BrokenException | StackOverflowError | RuntimeException failure) {
      templates.put(shape.key(), new Template(null, null, reasonOf(failure)));
    } catch (Exception failure) { // Scala's checked ones, which javac does not know of
      templates.put(shape.key(), new Template(null, null, reasonOf(failure)));
    }
  }

  private static String reasonOf(Throwable failure) {
    if (failure instanceof StackOverflowError) {
      return "the expression is nested too deeply";
    }
    String message =
        failure instanceof AnalysisException told ? told.getSimpleMessage() : failure.getMessage();
    return message == null ? failure.getClass().getSimpleName() : message.strip().split("\n")[0];
  }

  /**
   * Refuses what is outside the portable subset.
   *
   * @param names of columns and of the lambdas around; any other may be a function to Spark
   */
  private void check(Expression tree, Set<String> names) throws BrokenException {
    boolean asksForNull = tree instanceof IsNull || tree instanceof IsNotNull; // `is unknown`, too
    if (!asksForNull && !OPERATORS.contains(tree.nodeName())) {
      throw new BrokenException(tree.nodeName() + " is outside the portable subset");
    }
    if (tree instanceof UnresolvedAttribute name) {
      checkName(CollectionConverters.asJava(name.nameParts()).get(0), names);
    }
    if (tree instanceof UnresolvedNamedLambdaVariable name) {
      checkName(CollectionConverters.asJava(name.nameParts()).get(0), names);
    }
    if (tree instanceof UnresolvedFunction call) {
      String name = String.join(".", CollectionConverters.asJava(call.nameParts()));
      boolean plain = !call.isDistinct() && call.filter().isEmpty() && call.ignoreNulls().isEmpty();
      if (!plain || !functions.contains(name.toLowerCase(java.util.Locale.ROOT))) {
        throw new BrokenException("the function \"" + name + "\" is outside the portable subset");
      }
    }
    boolean escapes =
        (tree instanceof Like like && like.escapeChar() != '\\')
            || (tree instanceof ILike ilike && ilike.escapeChar() != '\\');
    if (escapes) {
      throw new BrokenException("a like with escape is outside the portable subset");
    }
    if (tree instanceof Literal literal && isForeign(literal.dataType())) {
      throw new BrokenException("a constant of type " + literal.dataType().sql());
    }
    Set<String> inner = names;
    if (tree instanceof LambdaFunction lambda) {
      inner = new HashSet<>(names);
      for (NamedExpression each : CollectionConverters.asJava(lambda.arguments())) {
        inner.add(each.name());
      }
    }
    for (Expression each : CollectionConverters.asJava(tree.children())) {
      boolean named = each instanceof Alias && tree instanceof CreateNamedStruct;
      check(named ? ((Alias) each).child() : each, inner);
    }
  }

  private static void checkName(String name, Set<String> names) throws BrokenException {
    if (!names.contains(name)) {
      throw new BrokenException("there is no column \"" + name + "\"");
    }
  }

  private static boolean isForeign(DataType type) {
    return type.sql().startsWith("INTERVAL") || type.sql().startsWith("TIMESTAMP_NTZ");
  }

  /** The literals of the constants of a shape; null where one cannot be told. */
  private static List<Literal> placesOf(Expression tree, Shape shape) {
    Map<Integer, Literal> found = new HashMap<>();
    collect(tree, found);
    List<Literal> places = new ArrayList<>();
    for (Shape.Constant each : shape.constants()) {
      Literal literal = found.get(each.start());
      if (literal == null || !literal.equals(each.value())) {
        return null;
      }
      places.add(literal);
    }
    return places;
  }

  private static void collect(Expression tree, Map<Integer, Literal> found) {
    if (tree instanceof Literal literal && literal.origin().startIndex().isDefined()) {
      found.put((Integer) literal.origin().startIndex().get(), literal);
    }
    CollectionConverters.asJava(tree.children()).forEach(each -> collect(each, found));
  }

  // From a tree to an expression over the row

  private void analyse(List<Parsed> parsed) {
    for (int from = 0; from < parsed.size(); from += AT_ONCE) {
      analyseTogether(parsed.subList(from, Math.min(parsed.size(), from + AT_ONCE)));
    }
  }

  /** Those of which one is refused are analysed in halves, so that the others are not. */
  private void analyseTogether(List<Parsed> parsed) {
    if (parsed.isEmpty()) {
      return;
    }
    try {
      List<Expression> resolved = resolved(parsed.stream().map(Parsed::tree).toList());
      for (int i = 0; i < parsed.size(); i++) {
        templates.put(parsed.get(i).shape().key(), template(parsed.get(i), resolved.get(i)));
      }
    } catch (RuntimeException | StackOverflowError failure) {
      halve(parsed, failure);
    } catch (Exception failure) {
      halve(parsed, failure);
    }
  }

  private void halve(List<Parsed> parsed, Throwable failure) {
    if (parsed.size() == 1) {
      templates.put(parsed.get(0).shape().key(), new Template(null, null, reasonOf(failure)));
      return;
    }
    analyseTogether(parsed.subList(0, parsed.size() / 2));
    analyseTogether(parsed.subList(parsed.size() / 2, parsed.size()));
  }

  private List<Expression> resolved(List<Expression> trees) throws AnalysisException {
    List<NamedExpression> named = new ArrayList<>();
    for (Expression tree : trees) {
      named.add(
          new Alias(
              tree, "c" + named.size(), NamedExpression$.MODULE$.newExprId(), seq(List.of()),
              Option.empty(), seq(List.of())));
    }
    Project plan = new Project(seq(named), relation);
    Project analysed =
        (Project)
            ReplaceExpressions$.MODULE$.apply(
                analyzer().executeAndCheck(plan, new QueryPlanningTracker(Option.empty())));
    List<Expression> found = new ArrayList<>();
    for (NamedExpression each : CollectionConverters.asJava(analysed.projectList())) {
      found.add(inRow(((Alias) each).child()));
    }
    return found;
  }

  private Analyzer analyzer() {
    if (analyzer == null) {
      analyzer =
          new Analyzer(
              new SessionCatalog(
                  new InMemoryCatalog(new SparkConf(false), new Configuration(false)),
                  FunctionRegistry$.MODULE$.builtin(),
                  TableFunctionRegistry$.MODULE$.builtin(),
                  conf));
    }
    return analyzer;
  }

  private Expression inRow(Expression tree) {
    if (tree instanceof AttributeReference column && bound.containsKey(column.exprId())) {
      return bound.get(column.exprId());
    }
    return (Expression) tree.mapChildren(each -> inRow((Expression) each));
  }

  private static Template template(Parsed parsed, Expression resolved) {
    try {
      checkTypes(resolved);
    } catch (BrokenException broken) {
      return new Template(null, null, broken.getMessage());
    }
    List<Literal> places = parsed.places();
    return new Template(resolved, places != null && hasAll(resolved, places) ? places : null, null);
  }

  private static void checkTypes(Expression condition) throws BrokenException {
    if (!(condition.dataType() instanceof BooleanType)) {
      throw new BrokenException("the condition is " + condition.dataType().sql() + ", not boolean");
    }
    checkCasts(condition);
  }

  /** Refuses casts whose result depends on the day, or on the version of Java. */
  private static void checkCasts(Expression tree) throws BrokenException {
    if (tree instanceof Cast cast) {
      DataType from = cast.child().dataType();
      if (cast.dataType() instanceof StringType
          && (from instanceof DoubleType || from instanceof FloatType)) {
        throw new BrokenException("a cast of a double to a text is outside the portable subset");
      }
      DataType to = cast.dataType();
      boolean date = to instanceof DateType || to instanceof TimestampType;
      if (date
          && cast.child() instanceof Literal literal
          && literal.value() != null
          && Shape.isMoving(literal.value().toString())) {
        throw new BrokenException("a date that changes every day");
      }
    }
    for (Expression each : CollectionConverters.asJava(tree.children())) {
      checkCasts(each);
    }
  }

  private static boolean hasAll(Expression tree, List<Literal> places) {
    IdentityHashMap<Expression, Boolean> found = new IdentityHashMap<>();
    note(tree, found);
    return places.stream().allMatch(found::containsKey);
  }

  private static void note(Expression tree, IdentityHashMap<Expression, Boolean> found) {
    found.put(tree, true);
    CollectionConverters.asJava(tree.children()).forEach(each -> note(each, found));
  }

  private static Expression replaced(Expression tree, IdentityHashMap<Expression, Expression> by) {
    Expression value = by.get(tree);
    if (value != null) {
      return value;
    }
    return (Expression) tree.mapChildren(each -> replaced((Expression) each, by));
  }

  /** The same with what reads no row worked out, but for what fails. */
  private static Expression folded(Expression tree) {
    if (tree instanceof Literal || tree instanceof LambdaFunction) {
      return tree;
    }
    Expression below =
        Costs.straight((Expression) tree.mapChildren(each -> folded((Expression) each)));
    if (!below.foldable() || !below.deterministic()) {
      return below;
    }
    try {
      return new Literal(below.eval(null), below.dataType());
    } catch (RuntimeException fails) {
      return below;
    }
  }
}
