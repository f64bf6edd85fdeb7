package dev.joinery.kernel.search;

import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The tokens of a text query, in Lucene's classic syntax. */
final class TextTokens {
  /** What a token is. */
  enum Kind {
    AND,
    OR,
    NOT,
    PLUS,
    MINUS,
    OPEN,
    CLOSE,
    COLON,
    WORD,
    LIKE,
    STAR,
    QUOTED,
    RANGE,
    BOOST,
    END
  }

  /** A bound of a range; {@code text} is null where there is none. */
  record Bound(String text, boolean included) {}

  /** {@code text} as it is written; of a range null. */
  record Token(Kind kind, String text, Bound low, Bound high) {
    static Token of(Kind kind, String text) {
      return new Token(kind, text, null, null);
    }
  }

  static final String SPACE = " \t\n\r\u3000";
  private static final String NO_START = SPACE + "+-!():^[]\"{}~*?\\/";
  private static final Pattern NUMBER = Pattern.compile("[0-9]+(\\.[0-9]+)?");
  private static final String RANGE = "a range is written [low TO high]";

  private final String text;
  private final List<Token> tokens = new ArrayList<>();
  private int at;

  private TextTokens(String text) {
    this.text = text;
  }

  static List<Token> of(String text) throws BrokenException {
    TextTokens read = new TextTokens(text);
    while (read.at < text.length()) {
      read.next();
    }
    read.tokens.add(Token.of(Kind.END, "the end"));
    return read.tokens;
  }

  private boolean isSpace(int place) {
    return place < text.length() && SPACE.indexOf(text.charAt(place)) >= 0;
  }

  private void next() throws BrokenException {
    char sign = text.charAt(at);
    if (isSpace(at)) {
      at++;
      return;
    }
    switch (sign) {
      case '(' -> add(Kind.OPEN);
      case ')' -> add(Kind.CLOSE);
      case ':' -> add(Kind.COLON);
      case '+', '-', '!' -> sign(sign);
      case '"' -> tokens.add(Token.of(Kind.QUOTED, quoted()));
      case '[', '{' -> range();
      case '^' -> boost();
      case '~' -> throw new BrokenException("~ is not supported: it asks how far apart words are");
      case '/' ->
          throw new BrokenException(
              "a regular expression is not supported; write \\/ for the character");
      case ']', '}' -> throw new BrokenException("\"" + sign + "\" closes nothing");
      default -> word();
    }
  }

  private void add(Kind kind) {
    tokens.add(Token.of(kind, text.substring(at, ++at)));
  }

  private void sign(char sign) {
    if (isSpace(at + 1)) {
      add(Kind.WORD);
    } else {
      add(sign == '+' ? Kind.PLUS : sign == '-' ? Kind.MINUS : Kind.NOT);
    }
  }

  private String quoted() throws BrokenException {
    int end = at + 1;
    while (end < text.length() && text.charAt(end) != '"') {
      end += text.charAt(end) == '\\' ? 2 : 1;
    }
    if (end >= text.length()) {
      throw new BrokenException("a quotation mark is not closed");
    }
    String found = text.substring(at + 1, end);
    at = end + 1;
    return found;
  }

  private void boost() throws BrokenException {
    Matcher number = NUMBER.matcher(text).region(at + 1, text.length());
    if (!number.lookingAt()) {
      throw new BrokenException("a number is missing after ^");
    }
    tokens.add(Token.of(Kind.BOOST, text.substring(at, number.end())));
    at = number.end();
  }

  private void word() throws BrokenException {
    int begin = at;
    boolean like = false;
    while (at < text.length()) {
      char sign = text.charAt(at);
      if (sign == '\\') {
        if (at + 1 == text.length()) {
          throw new BrokenException("a backslash at the end escapes nothing");
        }
        at += 2;
      } else if (sign == '*' || sign == '?') {
        like = true;
        at++;
      } else if (sign == '+' || sign == '-' || NO_START.indexOf(sign) < 0) {
        at++;
      } else {
        break;
      }
    }
    String found = text.substring(begin, at);
    tokens.add(Token.of(like ? found.equals("*") ? Kind.STAR : Kind.LIKE : kindOf(found), found));
  }

  private static Kind kindOf(String word) {
    return switch (word) {
      case "AND", "&&" -> Kind.AND;
      case "OR", "||" -> Kind.OR;
      case "NOT" -> Kind.NOT;
      default -> Kind.WORD;
    };
  }

  private void range() throws BrokenException {
    boolean lowIn = text.charAt(at++) == '[';
    Bound low = bound(lowIn);
    skip();
    boolean to = at < text.length() && text.charAt(at) != '"' && "TO".equals(bare());
    Bound high = to ? bound(true) : null;
    skip();
    if (!to || at == text.length() || "]}".indexOf(text.charAt(at)) < 0) {
      throw new BrokenException(RANGE);
    }
    Bound ended = new Bound(high.text(), text.charAt(at++) == ']');
    tokens.add(new Token(Kind.RANGE, null, low, ended));
  }

  private Bound bound(boolean included) throws BrokenException {
    skip();
    if (at < text.length() && text.charAt(at) == '"') {
      return new Bound(plain(quoted()), included);
    }
    String found = bare();
    return new Bound(found.equals("*") ? null : plain(found), included);
  }

  private String bare() throws BrokenException {
    int begin = at;
    while (at < text.length() && !isSpace(at) && "]}".indexOf(text.charAt(at)) < 0) {
      at++;
    }
    if (begin == at) {
      throw new BrokenException(RANGE);
    }
    return text.substring(begin, at);
  }

  private void skip() {
    while (isSpace(at)) {
      at++;
    }
  }

  /** A text without its escapes. */
  static String plain(String text) throws BrokenException {
    StringBuilder out = new StringBuilder(text.length());
    for (int i = 0; i < text.length(); i++) {
      out.append(text.charAt(text.charAt(i) == '\\' ? i = escaped(text, i) : i));
    }
    return out.toString();
  }

  /** The place of what a backslash escapes. */
  static int escaped(String text, int backslash) throws BrokenException {
    if (backslash + 1 == text.length()) {
      throw new BrokenException("a backslash at the end escapes nothing");
    }
    if (text.charAt(backslash + 1) == 'u') {
      throw new BrokenException("\\u is not supported; write the character itself");
    }
    return backslash + 1;
  }
}
