package dev.joinery.kernel.search;

import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.sql.catalyst.analysis.UnresolvedFunction;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.ILike;
import org.apache.spark.sql.catalyst.expressions.LambdaFunction;
import org.apache.spark.sql.catalyst.expressions.Like;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.expressions.RLike;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Keeps conditions from taking far longer than reading the row does: by what is written, not by a
 * clock, so that a condition is refused everywhere or nowhere.
 */
final class Costs {
  private static final int MOST_BRACKETS = 50;
  private static final int MOST_LAMBDAS = 2;
  private static final Pattern QUOTED_OR_BRACKET =
      Pattern.compile(
          "'[^'\\\\]*+(?:\\\\.[^'\\\\]*+)*+'|\"[^\"\\\\]*+(?:\\\\.[^\"\\\\]*+)*+\"|`[^`]*+`"
              + "|([(\\[])|([)\\]])",
          Pattern.DOTALL);
  private static final Pattern REGEX_SIGNS = Pattern.compile("[\\\\^$.|?*+()\\[\\]{}]");

  private Costs() {}

  /**
   * Refuses a text that Spark's parser takes minutes and gigabytes for: each open bracket makes it
   * look further ahead.
   */
  static void checkText(String text) throws BrokenException {
    Matcher token = QUOTED_OR_BRACKET.matcher(text);
    int depth = 0;
    while (token.find()) {
      depth += token.group(1) != null ? 1 : token.group(2) != null ? -1 : 0;
      if (depth > MOST_BRACKETS) {
        throw new BrokenException("more than " + MOST_BRACKETS + " nested brackets");
      }
    }
  }

  /** Refuses a tree, as the parser made it, that may take long. */
  static void check(Expression tree) throws BrokenException {
    check(tree, 0);
  }

  private static void check(Expression tree, int lambdas) throws BrokenException {
    int within = tree instanceof LambdaFunction ? lambdas + 1 : lambdas;
    if (within > MOST_LAMBDAS) {
      throw new BrokenException("more than " + MOST_LAMBDAS + " nested lambdas");
    }
    if (tree instanceof Like like) {
      checkPattern(like.right());
    }
    if (tree instanceof ILike like) {
      checkPattern(like.right());
    }
    if (tree instanceof UnresolvedFunction call) {
      checkCall(call);
    }
    for (Expression each : CollectionConverters.asJava(tree.children())) {
      check(each, within);
    }
  }

  private static void checkCall(UnresolvedFunction call) throws BrokenException {
    String name = String.join(".", CollectionConverters.asJava(call.nameParts()));
    List<Expression> arguments = CollectionConverters.asJava(call.arguments());
    switch (name.toLowerCase(Locale.ROOT)) {
      case "like", "ilike" -> checkPattern(arguments.get(arguments.size() - 1));
      case "replace" -> {
        for (Expression each : arguments.subList(Math.min(1, arguments.size()), arguments.size())) {
          if (!(each instanceof Literal)) {
            throw new BrokenException("what replace looks for or puts in is not a constant");
          }
        }
      }
      case "split" -> checkSign(arguments);
      default -> {}
    }
  }

  private static void checkPattern(Expression pattern) throws BrokenException {
    if (!(pattern instanceof Literal)) {
      throw new BrokenException("the pattern of like is not a constant");
    }
  }

  private static void checkSign(List<Expression> arguments) throws BrokenException {
    boolean plain =
        arguments.size() == 2
            && arguments.get(1) instanceof Literal sign
            && sign.value() != null
            && !sign.value().toString().isEmpty()
            && !REGEX_SIGNS.matcher(sign.value().toString()).find();
    if (!plain) {
      throw new BrokenException("what split splits at is outside the portable subset");
    }
  }

  /**
   * The same, going through the text once: {@code like} tries every way to share a text among
   * several signs {@code %}, though the first place of each part is as good as any.
   */
  static Expression straight(Expression tree) {
    if (!(tree instanceof Like like)
        || !(like.right() instanceof Literal pattern)
        || pattern.value() == null) {
      return tree;
    }
    String regex = straight(pattern.value().toString());
    return regex == null ? tree : new RLike(like.left(), Literal$.MODULE$.apply(regex));
  }

  /** Null for a pattern with fewer than two signs {@code %}, or one that is written wrongly. */
  static String straight(String pattern) {
    StringBuilder regex = new StringBuilder("(?s)\\A");
    StringBuilder part = new StringBuilder();
    int signs = 0;
    for (int i = 0; i < pattern.length(); ) {
      int sign = pattern.codePointAt(i);
      i += Character.charCount(sign);
      if (sign == '%') {
        close(regex, part, signs++);
        continue;
      }
      if (sign == '\\') {
        boolean escapes = i < pattern.length() && "_%\\".indexOf(pattern.charAt(i)) >= 0;
        if (!escapes) {
          return null;
        }
        sign = pattern.charAt(i++);
      } else if (sign == '_') {
        part.append('.');
        continue;
      }
      part.append(Pattern.quote(Character.toString(sign)));
    }
    return signs < 2 ? null : regex.append(".*").append(part).append("\\z").toString();
  }

  /** The part before the first sign stands at the beginning, another where it is found first. */
  private static void close(StringBuilder regex, StringBuilder part, int signs) {
    if (signs == 0) {
      regex.append(part);
    } else if (!part.isEmpty()) {
      regex.append("(?>.*?").append(part).append(")");
    }
    part.setLength(0);
  }
}
