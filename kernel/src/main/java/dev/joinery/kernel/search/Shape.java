package dev.joinery.kernel.search;

import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Literal$;

/**
 * A condition's text without its constants: texts of one shape differ in constants alone, and these
 * have the same types, so what Spark's analyser makes of one it makes of all.
 *
 * <p>Only constants that stand alone on one side of a comparison, or in a list, are taken out; of
 * others the value may decide a type. Where a text is not understood, it is its own shape.
 *
 * @param key equal for texts of one shape
 * @param constants what was taken out, in the order of the text
 */
record Shape(String key, List<Constant> constants) {
  /** A constant at a place of the text, from 0. */
  record Constant(int start, Literal value) {}

  private static final Pattern TOKEN =
      Pattern.compile(
          "\\s+|'[^'\\\\]*'|\"[^\"\\\\]*\"|`[^`]+`|[A-Za-z_][A-Za-z0-9_]*|[0-9]+\\.[0-9]+|[0-9]+"
              + "|<=>|<=|>=|<>|!=|==|[=<>(),+*/%.\\-\\[\\]]",
          Pattern.DOTALL);
  private static final Set<String> BEFORE =
      Set.of("=", "==", "<>", "!=", "<", "<=", ">", ">=", "<=>");
  private static final Set<String> AFTER = Set.of("", "and", "or", ")");
  private static final Pattern MOVING =
      Pattern.compile(
          "\\s*(today|now|tomorrow|yesterday|epoch).*",
          Pattern.CASE_INSENSITIVE | Pattern.DOTALL);
  private static final int WHOLE_DIGITS = 9;

  private record Token(int start, String text) {
    String word() {
      return text.toLowerCase(Locale.ROOT);
    }
  }

  static Shape of(String text) {
    List<Token> tokens = tokensOf(text);
    return tokens == null ? alone(text) : shaped(text, tokens);
  }

  /** The shape of this text and no other. */
  static Shape alone(String text) {
    return new Shape("=" + text, List.of());
  }

  /** Whether a text is a date that changes every day, where Spark reads it as one. */
  static boolean isMoving(String text) {
    return MOVING.matcher(text).matches();
  }

  boolean isAlone() {
    return key.startsWith("=");
  }

  private static Shape shaped(String text, List<Token> tokens) {
    StringBuilder key = new StringBuilder("~");
    List<Constant> constants = new ArrayList<>();
    boolean[] listed = listed(tokens);
    for (int i = 0; i < tokens.size(); i++) {
      Token token = tokens.get(i);
      boolean free = listed[i] || stands(tokens, i);
      Literal value = free ? valueOf(token.text()) : null;
      if (value == null) {
        key.append(token.text()).append(' ');
      } else {
        constants.add(new Constant(token.start(), value));
        key.append('?').append(value.dataType().sql()).append(' ');
        if (Character.isDigit(token.text().charAt(0))) {
          key.append(token.text().length()).append(' '); // a decimal beside it is as wide
        }
      }
    }
    return constants.isEmpty() ? alone(text) : new Shape(key.toString(), constants);
  }

  /** Whether a token is one side of a comparison, alone. */
  private static boolean stands(List<Token> tokens, int at) {
    String before = at == 0 ? "" : tokens.get(at - 1).word();
    String after = at + 1 == tokens.size() ? "" : tokens.get(at + 1).word();
    return BEFORE.contains(before) && AFTER.contains(after);
  }

  /** Which tokens are items of a list behind {@code in}. */
  private static boolean[] listed(List<Token> tokens) {
    boolean[] listed = new boolean[tokens.size()];
    for (int i = 0; i + 1 < tokens.size(); i++) {
      if (!tokens.get(i).word().equals("in") || !tokens.get(i + 1).text().equals("(")) {
        continue;
      }
      int end = i + 2;
      while (end + 1 < tokens.size()
          && valueOf(tokens.get(end).text()) != null
          && tokens.get(end + 1).text().equals(",")) {
        end += 2;
      }
      boolean closed = end + 1 < tokens.size() && tokens.get(end + 1).text().equals(")");
      if (closed && valueOf(tokens.get(end).text()) != null) {
        for (int item = i + 2; item <= end; item += 2) {
          listed[item] = true;
        }
      }
    }
    return listed;
  }

  /** The constant that a token is; null where it is none, or none that may be exchanged. */
  private static Literal valueOf(String token) {
    char first = token.charAt(0);
    if (first == '\'' || first == '"') {
      String value = token.substring(1, token.length() - 1);
      return isMoving(value) ? null : Literal$.MODULE$.apply(value);
    }
    if (first < '0' || first > '9') {
      return null;
    }
    if (token.indexOf('.') >= 0) {
      return token.length() > 18 ? null : Literal$.MODULE$.apply(new BigDecimal(token));
    }
    return token.length() > WHOLE_DIGITS ? null : Literal$.MODULE$.apply(Integer.valueOf(token));
  }

  /** The tokens without the space between them; null where there is anything else. */
  private static List<Token> tokensOf(String text) {
    List<Token> tokens = new ArrayList<>();
    Matcher matcher = TOKEN.matcher(text);
    int at = 0;
    boolean apart = true;
    while (at < text.length()) {
      if (!matcher.find(at) || matcher.start() != at) {
        return null;
      }
      String token = matcher.group();
      at = matcher.end();
      if (Character.isWhitespace(token.charAt(0))) {
        apart = true;
        continue;
      }
      boolean sign = "=<>(),+*/%.-[]!".indexOf(token.charAt(0)) >= 0;
      if (!sign && !apart) {
        return null; // 1e3, 5L, 'a''b': letters and digits that belong together
      }
      if (token.equals("-") && at < text.length() && text.charAt(at) == '-') {
        return null; // a comment
      }
      if (token.equals("/") && at < text.length() && text.charAt(at) == '*') {
        return null;
      }
      tokens.add(new Token(matcher.start(), token));
      apart = sign && !token.equals(".");
    }
    return tokens;
  }
}
