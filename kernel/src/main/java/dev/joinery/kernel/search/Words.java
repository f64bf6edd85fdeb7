package dev.joinery.kernel.search;

import java.util.ArrayList;
import java.util.List;

/**
 * The words of a text, in small letters: those of Lucene's StandardAnalyzer, by the word boundaries
 * of Unicode (UAX #29), but for emoji and for scripts without spaces. It remembers nothing.
 *
 * <p>Invariant: {@code text_tokens.py} gives the same; both are held to Lucene by {@code text_cases.json}.
 */
final class Words {
  /** A longer word is cut into pieces of this length. */
  private static final int MOST_CHARACTERS = 255;

  private static final int[] IDEOGRAPHS = {
    0x2E80, 0x2FD5, 0x3005, 0x3005, 0x3007, 0x3007, 0x3021, 0x3029, 0x3038, 0x303B, 0x3400, 0x4DBF,
    0x4E00, 0x9FFF, 0xF900, 0xFAD9, 0x20000, 0x3134F
  };
  private static final int[] HIRAGANA = {0x3041, 0x3096, 0x309D, 0x309F};
  private static final int[] KATAKANA = {
    0x3031, 0x3035, 0x309B, 0x309C, 0x30A0, 0x30FA, 0x30FC, 0x30FF, 0x31F0, 0x31FF, 0x32D0, 0x32FE,
    0x3300, 0x3357, 0xFF66, 0xFF9D
  };
  private static final String BETWEEN_LETTERS =
      ":\u00b7\u0387\u055f\u05f4\u2027\ufe13\ufe55\uff1a";
  private static final String BETWEEN_DIGITS =
      ",;\u037e\u0589\u060c\u060d\u066c\u07f8\u2044\ufe10\ufe14\ufe50\ufe54\uff0c\uff1b";
  private static final String BETWEEN_BOTH = ".'\u2018\u2019\u2024\ufe52\uff07\uff0e";

  private static final char NONE = ' ';
  private static final char[] ASCII = new char[128];

  static {
    for (int point = 0; point < ASCII.length; point++) {
      ASCII[point] = kindOf(point);
    }
  }

  private final String text;
  private final List<String> words = new ArrayList<>();

  private Words(String text) {
    this.text = text;
  }

  static List<String> of(String text) {
    Words found = new Words(text);
    found.read();
    return found.words;
  }

  /** A text in small letters, each character by itself. */
  static String lowered(String text) {
    StringBuilder out = new StringBuilder(text.length());
    text.codePoints().forEach(each -> out.appendCodePoint(Character.toLowerCase(each)));
    return out.toString();
  }

  private static char kind(int point) {
    return point < ASCII.length ? ASCII[point] : kindOf(point);
  }

  /**
   * A letter, a digit, katakana, hiragana or an ideograph ({@code ANKHI}), what joins ({@code E}) or
   * extends ({@code X}), what stands between letters, digits or either ({@code lnb}), or a space.
   */
  private static char kindOf(int point) {
    if (within(IDEOGRAPHS, point)) {
      return 'I';
    }
    if (within(HIRAGANA, point)) {
      return 'H';
    }
    if (within(KATAKANA, point)) {
      return 'K';
    }
    if (BETWEEN_LETTERS.indexOf(point) >= 0) {
      return 'l';
    }
    if (BETWEEN_DIGITS.indexOf(point) >= 0) {
      return 'n';
    }
    if (BETWEEN_BOTH.indexOf(point) >= 0) {
      return 'b';
    }
    return switch (Character.getType(point)) {
      case Character.UPPERCASE_LETTER,
          Character.LOWERCASE_LETTER,
          Character.TITLECASE_LETTER,
          Character.MODIFIER_LETTER,
          Character.OTHER_LETTER,
          Character.LETTER_NUMBER ->
          'A';
      case Character.DECIMAL_DIGIT_NUMBER -> 'N';
      case Character.CONNECTOR_PUNCTUATION -> 'E';
      case Character.NON_SPACING_MARK,
          Character.COMBINING_SPACING_MARK,
          Character.ENCLOSING_MARK ->
          'X';
      case Character.FORMAT -> point == 0x200B ? NONE : 'X';
      default -> NONE;
    };
  }

  private static boolean within(int[] ranges, int point) {
    for (int i = 0; i < ranges.length; i += 2) {
      if (point >= ranges[i] && point <= ranges[i + 1]) {
        return true;
      }
    }
    return false;
  }

  private void read() {
    int begin = 0;
    int end = 0;
    char last = NONE;
    boolean wordy = false;
    for (int at = 0; at < text.length(); ) {
      int point = text.codePointAt(at);
      char kind = kind(point);
      int after = at + Character.charCount(point);
      if (kind == 'X') {
        end = last == NONE ? end : after;
        at = after;
        continue;
      }
      int follows = last == NONE || joined(last, kind) ? -1 : between(last, kind, after);
      if (follows >= 0) {
        after = follows + Character.charCount(text.codePointAt(follows));
        kind = last;
      } else if (last == NONE || !joined(last, kind)) {
        add(begin, end, wordy);
        begin = at;
        wordy = false;
      }
      at = after;
      end = at;
      last = "ANKEIH".indexOf(kind) >= 0 ? kind : NONE;
      wordy |= last != NONE && last != 'E';
    }
    add(begin, end, wordy);
  }

  /** Whether no boundary parts two characters. */
  private static boolean joined(char last, char kind) {
    return switch (last) {
      case 'A', 'N' -> kind == 'A' || kind == 'N' || kind == 'E';
      case 'K' -> kind == 'K' || kind == 'E';
      case 'E' -> kind == 'A' || kind == 'N' || kind == 'K' || kind == 'E';
      default -> false;
    };
  }

  /** Where the letter or digit is that follows a sign between two of them; -1 where none does. */
  private int between(char last, char sign, int after) {
    if ((last != 'A' && last != 'N') || (sign != 'b' && sign != (last == 'A' ? 'l' : 'n'))) {
      return -1;
    }
    int at = after;
    while (at < text.length() && kind(text.codePointAt(at)) == 'X') {
      at += Character.charCount(text.codePointAt(at));
    }
    return at < text.length() && kind(text.codePointAt(at)) == last ? at : -1;
  }

  private void add(int begin, int end, boolean wordy) {
    if (!wordy) {
      return;
    }
    String run = lowered(text.substring(begin, end));
    while (run.length() > MOST_CHARACTERS
        && run.codePointCount(0, run.length()) > MOST_CHARACTERS) {
      int piece = run.offsetByCodePoints(0, MOST_CHARACTERS);
      words.add(run.substring(0, piece));
      run = run.substring(piece);
    }
    words.add(run);
  }
}
