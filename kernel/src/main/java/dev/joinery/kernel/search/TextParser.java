package dev.joinery.kernel.search;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.NumericType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimestampType;

/**
 * Reads text queries: Lucene's classic syntax, but for what needs a score, a measure or a regex. A
 * word without a column is looked for in all columns of text; what is asked of a column that is no
 * text becomes a condition in SQL.
 *
 * <p>Source: {@code QueryParser.jj} of Lucene 9, with the operator OR and its quirks: {@code a AND b
 * OR c} is {@code +a +b c}.
 *
 * <p>Invariant: what is refused here {@code text_parser.py} refuses too, and the other way round.
 */
final class TextParser {
  private static final int MOST_BRACKETS = 50;
  private static final Pattern NUMBER = Pattern.compile("-?[0-9]{1,18}(\\.[0-9]{1,18})?");
  private static final String DAY = "[0-9]{4}-[0-9]{2}-[0-9]{2}";
  private static final Pattern DATE = Pattern.compile(DAY);
  private static final Pattern TIMESTAMP =
      Pattern.compile(DAY + "(T[0-9]{2}:[0-9]{2}:[0-9]{2}(\\.[0-9]{1,6})?Z)?");
  private static final Pattern BOOLEAN = Pattern.compile("true|false");

  private final TextColumns columns;
  private final int[] all;
  private final Consumer<String> asks;
  private List<TextTokens.Token> tokens;
  private int at;
  private int depth;

  /** {@code asks} takes the conditions in SQL that a query needs. */
  TextParser(TextColumns columns, Consumer<String> asks) {
    this.columns = columns;
    this.all = IntStream.range(0, columns.count()).toArray();
    this.asks = asks;
  }

  TextQuery read(String text, int mostCharacters) throws BrokenException {
    if (text.chars().allMatch(each -> TextTokens.SPACE.indexOf(each) >= 0)) {
      throw new BrokenException("the query is empty");
    }
    if (text.codePointCount(0, text.length()) > mostCharacters) {
      throw new BrokenException("the query has more than " + mostCharacters + " characters");
    }
    tokens = TextTokens.of(text);
    TextQuery query = query(null);
    if (kind() != TextTokens.Kind.END) {
      throw new BrokenException("there is a bracket that closes nothing");
    }
    return query == null ? new TextQuery.Clauses(List.of(), List.of(), List.of()) : query;
  }

  private TextTokens.Kind kind() {
    return tokens.get(at).kind();
  }

  // Clauses

  private enum Occur {
    MUST,
    SHOULD,
    MUST_NOT
  }

  /** {@code query} is null where nothing is left of it, such as of a word that is only a sign. */
  private record Clause(Occur occur, TextQuery query) {}

  private TextQuery query(String column) throws BrokenException {
    List<Clause> clauses = new ArrayList<>();
    TextQuery alone = null;
    for (boolean first = true; first || !ends(); first = false) {
      boolean both = !first && kind() == TextTokens.Kind.AND;
      if (both || (!first && kind() == TextTokens.Kind.OR)) {
        at++;
      }
      TextTokens.Kind sign = sign();
      TextQuery query = clause(column);
      if (both && !clauses.isEmpty()) {
        require(clauses);
      }
      if (query != null) {
        clauses.add(new Clause(occur(sign, both), query));
      }
      alone = first && sign == null ? query : alone;
    }
    if (clauses.size() == 1 && alone != null) {
      return alone;
    }
    return clauses.isEmpty() ? null : joined(clauses);
  }

  private boolean ends() {
    return kind() == TextTokens.Kind.CLOSE || kind() == TextTokens.Kind.END;
  }

  /** Null where there is none. */
  private TextTokens.Kind sign() {
    return switch (kind()) {
      case NOT, PLUS, MINUS -> tokens.get(at++).kind();
      default -> null;
    };
  }

  /** What is before AND must be there, too. */
  private static void require(List<Clause> clauses) {
    Clause last = clauses.get(clauses.size() - 1);
    if (last.occur() != Occur.MUST_NOT) {
      clauses.set(clauses.size() - 1, new Clause(Occur.MUST, last.query()));
    }
  }

  private static Occur occur(TextTokens.Kind sign, boolean both) {
    if (sign == TextTokens.Kind.NOT || sign == TextTokens.Kind.MINUS) {
      return Occur.MUST_NOT;
    }
    return sign == TextTokens.Kind.PLUS || both ? Occur.MUST : Occur.SHOULD;
  }

  private static TextQuery joined(List<Clause> clauses) {
    return new TextQuery.Clauses(
        of(clauses, Occur.MUST), of(clauses, Occur.SHOULD), of(clauses, Occur.MUST_NOT));
  }

  private static List<TextQuery> of(List<Clause> clauses, Occur occur) {
    return clauses.stream().filter(each -> each.occur() == occur).map(Clause::query).toList();
  }

  private TextQuery clause(String around) throws BrokenException {
    String column = around;
    boolean named = kind() == TextTokens.Kind.WORD || kind() == TextTokens.Kind.STAR;
    if (named && tokens.get(at + 1).kind() == TextTokens.Kind.COLON) {
      column = TextTokens.plain(tokens.get(at).text());
      at += 2;
    }
    TextQuery query = kind() == TextTokens.Kind.OPEN ? group(column) : term(column);
    if (kind() == TextTokens.Kind.BOOST) {
      at++; // nothing is scored
    }
    return query;
  }

  private TextQuery group(String column) throws BrokenException {
    at++;
    if (++depth > MOST_BRACKETS) {
      throw new BrokenException("more than " + MOST_BRACKETS + " nested brackets");
    }
    TextQuery query = query(column);
    if (kind() != TextTokens.Kind.CLOSE) {
      throw new BrokenException("a bracket is not closed");
    }
    at++;
    depth--;
    return query;
  }

  // Terms

  private TextQuery term(String name) throws BrokenException {
    TextTokens.Token token = tokens.get(at);
    at += token.kind() == TextTokens.Kind.END ? 0 : 1;
    switch (token.kind()) {
      case STAR -> {
        if ("*".equals(name)) {
          return new TextQuery.Everything();
        }
        throw leading();
      }
      case LIKE -> {
        if ("*?".indexOf(token.text().charAt(0)) >= 0) {
          throw leading();
        }
      }
      case WORD, QUOTED, RANGE -> {}
      default ->
          throw new BrokenException("where a word is expected there is " + token.text());
    }
    if (name == null) {
      return ofText(token, all);
    }
    TextColumns.Column column = columns.get(name);
    if (column == null) {
      throw new BrokenException("there is no column \"" + name + "\"");
    }
    return column.number() >= 0
        ? ofText(token, new int[] {column.number()})
        : ofValue(token, column, name);
  }

  private static BrokenException leading() {
    return new BrokenException(
        "a pattern begins with * or ?, so every word would have to be tried");
  }

  private static TextQuery ofText(TextTokens.Token token, int[] in) throws BrokenException {
    if (token.kind() == TextTokens.Kind.LIKE) {
      return pattern(token.text(), in);
    }
    if (token.kind() == TextTokens.Kind.RANGE) {
      return new TextQuery.Range(
          in,
          lowered(token.low().text()),
          lowered(token.high().text()),
          token.low().included(),
          token.high().included());
    }
    List<String> found = Words.of(TextTokens.plain(token.text()));
    if (found.size() > 1 && token.kind() == TextTokens.Kind.WORD) {
      List<TextQuery> each = new ArrayList<>();
      found.forEach(word -> each.add(new TextQuery.Phrase(in, List.of(word))));
      return new TextQuery.Clauses(List.of(), List.copyOf(each), List.of());
    }
    return found.isEmpty() ? null : new TextQuery.Phrase(in, List.copyOf(found));
  }

  private static String lowered(String text) {
    return text == null ? null : Words.lowered(text);
  }

  private static TextQuery pattern(String text, int[] in) throws BrokenException {
    IntStream.Builder parts = IntStream.builder();
    StringBuilder prefix = new StringBuilder();
    boolean plain = true;
    for (int i = 0; i < text.length(); ) {
      char sign = text.charAt(i);
      if (sign == '*' || sign == '?') {
        plain = false;
        parts.add(sign == '*' ? TextQuery.Pattern.MANY : TextQuery.Pattern.ONE);
        i++;
        continue;
      }
      i = sign == '\\' ? TextTokens.escaped(text, i) : i;
      int point = text.codePointAt(i);
      i += Character.charCount(point);
      parts.add(Character.toLowerCase(point));
      if (plain) {
        prefix.appendCodePoint(Character.toLowerCase(point));
      }
    }
    return new TextQuery.Pattern(in, parts.build().toArray(), prefix.toString());
  }

  // Columns that are not text

  private TextQuery ofValue(TextTokens.Token token, TextColumns.Column column, String name)
      throws BrokenException {
    if (token.kind() == TextTokens.Kind.LIKE) {
      throw new BrokenException("\"" + name + "\" is not text, so it takes no pattern");
    }
    String text;
    if (token.kind() == TextTokens.Kind.RANGE) {
      text = over(column, between(token, column, name));
    } else {
      String literal = literal(TextTokens.plain(token.text()), column.type(), name);
      text = over(column, each -> each + " = " + literal);
    }
    asks.accept(text);
    return new TextQuery.Where(text, null);
  }

  private static UnaryOperator<String> between(
      TextTokens.Token token, TextColumns.Column column, String name) throws BrokenException {
    String low = token.low().text();
    String high = token.high().text();
    if (column.type() instanceof BooleanType && (low != null || high != null)) {
      throw new BrokenException("\"" + name + "\" has no range");
    }
    List<String> bounds = new ArrayList<>();
    if (low != null) {
      bounds.add((token.low().included() ? ">= " : "> ") + literal(low, column.type(), name));
    }
    if (high != null) {
      bounds.add((token.high().included() ? "<= " : "< ") + literal(high, column.type(), name));
    }
    return each ->
        bounds.isEmpty()
            ? each + " is not null"
            : String.join(" and ", bounds.stream().map(bound -> each + " " + bound).toList());
  }

  /** A value of a column as SQL has it. */
  private static String literal(String text, DataType type, String name) throws BrokenException {
    Pattern pattern =
        type instanceof NumericType
            ? NUMBER
            : type instanceof BooleanType
                ? BOOLEAN
                : type instanceof DateType ? DATE : type instanceof TimestampType ? TIMESTAMP : null;
    if (pattern == null) {
      throw new BrokenException(
          "\"" + name + "\" is " + type.sql() + ", which no query can ask for");
    }
    if (!pattern.matcher(text).matches()) {
      throw new BrokenException(
          "\"" + text + "\" is not a value of \"" + name + "\", which is " + type.sql());
    }
    return type instanceof DateType
        ? "date'" + text + "'"
        : type instanceof TimestampType ? "timestamp'" + text + "'" : text;
  }

  /** A condition on what is in a column: of a list, that it holds for one of its items. */
  private String over(TextColumns.Column column, UnaryOperator<String> compared) {
    StringBuilder opened = new StringBuilder();
    String name = "";
    int lists = 0;
    DataType type = columns.row();
    for (String step : column.path()) {
      name = (name.isEmpty() ? "" : name + ".") + "`" + step.replace("`", "``") + "`";
      type = ((StructType) type).apply(step).dataType();
      while (type instanceof ArrayType list) {
        lists++;
        opened.append("exists(" + name + ", x" + lists + " -> ");
        name = "x" + lists;
        type = list.elementType();
      }
    }
    return opened + compared.apply(name) + ")".repeat(lists);
  }
}
