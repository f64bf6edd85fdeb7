package dev.joinery.kernel.files;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.MissingNode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.Collection;
import java.util.NavigableSet;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Tells whether a change file of a spool is missing that no reader had yet.
 *
 * <p>A complete file is named {@code <number>.<before>.jsonl}, where {@code before} is the number
 * of its topic's file before it, 0 for none; older ones have their number alone. Numbers are
 * counted over all topics, so a gap between two proves nothing. The capture notes the last file of
 * each topic beside its position, and which were removed since nobody needs them any more.
 *
 * <p>Invariant: what is noted as last is asked for before a folder is listed, and what was removed
 * after that. So a file that is written or removed meanwhile is not taken for one that is missing.
 */
final class Chain {
  static final int NUMBER = 16;

  private static final Pattern NAME = Pattern.compile("([0-9]{16})(?:\\.([0-9]{16}))?\\.jsonl");
  private static final ObjectMapper JSON = new ObjectMapper();

  private final Path spool;

  /** What the capture noted last, and when that was. */
  private JsonNode position = MissingNode.getInstance();

  private FileTime positionAt;

  Chain(Path spool) {
    this.spool = spool;
  }

  /** Returns the digits by which files of a topic are numbered. */
  static String number(String name) {
    return name.substring(0, NUMBER);
  }

  /** Returns the number of the file before one of this name; 0 where it tells none. */
  static long before(String name) {
    Matcher matcher = NAME.matcher(name);
    return matcher.matches() && matcher.group(2) != null ? Long.parseLong(matcher.group(2)) : 0;
  }

  static boolean isComplete(String name) {
    return NAME.matcher(name).matches();
  }

  /** Returns which of these names has a number; null for none. */
  static String numbered(NavigableSet<String> names, String number) {
    String name = names.ceiling(number + ".");
    return name != null && name.startsWith(number + ".") && isComplete(name) ? name : null;
  }

  /** Returns the number of a topic's last file; 0 where it is not told. */
  long last(String topic) throws IOException {
    Path file = spool.resolve("position.json");
    FileTime at = Files.exists(file) ? Files.getLastModifiedTime(file) : null;
    if (at != null && !at.equals(positionAt)) {
      position = noted("position.json");
      positionAt = at;
    }
    return position.path("last").path(topic).asLong();
  }

  /**
   * Refuses a topic of which a file is missing.
   *
   * @param found those of its files that were not known
   * @param known those that were
   * @param last the number of its last, as it was before
   */
  void check(String topic, Collection<String> found, NavigableSet<String> known, long last)
      throws IOException {
    NavigableSet<String> fresh = new TreeSet<>(found);
    NavigableSet<Long> missing = new TreeSet<>();
    fresh.forEach(each -> missing.add(before(each)));
    missing.add(last);
    missing.removeIf(each -> isThere(each, fresh, known));
    if (!missing.isEmpty()) {
      Long first = missing.higher(noted("kept.json").path("removed " + topic).asLong());
      if (first != null) {
        throw missing(topic, first);
      }
    }
  }

  private static boolean isThere(
      long number, NavigableSet<String> fresh, NavigableSet<String> known) {
    String digits = String.format("%016d", number);
    return number == 0 || numbered(fresh, digits) != null || numbered(known, digits) != null;
  }

  /** Returns that a file is missing which was not read. */
  static FilesError missing(String topic, long number) {
    return new FilesError(
        String.format(
            "change file %016d of table %s is missing from the spool, and its changes were not"
                + " read: put it back; else joinery source drop, then joinery run --rebuild",
            number, topic));
  }

  private JsonNode noted(String name) throws IOException {
    try {
      return JSON.readTree(Files.readAllBytes(spool.resolve(name)));
    } catch (NoSuchFileException notYet) {
      return JSON.createObjectNode();
    }
  }
}
