package dev.joinery.kernel.files;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A file the source has seen, as it was then; files are complete once their name is there.
 *
 * @param number its place in the order in which the topic's files were seen
 * @param label orders a topic's files as their names do, in bytes; a replay has its original's
 */
record KnownFile(String topic, int number, String name, long label, long size) {
  private static final Pattern REPLAY =
      Pattern.compile("(.+\\.jsonl)\\.\\d{8}T\\d{12}Z\\.replay\\.jsonl", Pattern.DOTALL);

  /**
   * Returns the file whose lines a replay puts back, null where this name is not a replay's.
   *
   * <p>A replay is named after its original, {@code <original>.<time>.replay.jsonl}; each of its
   * lines is the number of a line of the original, a tab, and what is to be read in its place.
   */
  static String original(String name) {
    Matcher matcher = REPLAY.matcher(name);
    return matcher.matches() ? matcher.group(1) : null;
  }
}
