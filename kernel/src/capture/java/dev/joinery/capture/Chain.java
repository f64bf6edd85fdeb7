package dev.joinery.capture;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Names complete change files, {@code <number>.<before>.jsonl}: {@code before} is the number of the
 * table's file before it, 0 for none. So whoever reads them sees where one is missing.
 *
 * <p>Older files have no more than their number, and so do those that stand aside.
 */
final class Chain {
  private static final String SUFFIX = ".jsonl";
  private static final Pattern NAME = Pattern.compile("([0-9]+)(?:\\.[0-9]+)?\\.jsonl");

  private final Map<String, Long> last;

  /**
   * @param files holds a folder a table
   * @param noted by table, the last file that there was, also where it is gone by now
   */
  Chain(Path files, Map<String, Long> noted) throws IOException {
    last = new TreeMap<>(noted);
    if (!Files.isDirectory(files)) {
      return;
    }
    try (DirectoryStream<Path> tables = Files.newDirectoryStream(files, Files::isDirectory)) {
      for (Path table : tables) {
        takeAll(table);
      }
    }
  }

  private void takeAll(Path table) throws IOException {
    try (DirectoryStream<Path> each = Files.newDirectoryStream(table, "[0-9]*" + SUFFIX)) {
      for (Path file : each) {
        if (isWhole(file)) {
          take(table.getFileName().toString(), number(file));
        }
      }
    }
  }

  /** Returns the name of a table's next file. */
  String name(String table, long number) {
    return String.format("%016d.%016d%s", number, last.getOrDefault(table, 0L), SUFFIX);
  }

  /** Returns the name of a file that stands aside. */
  static String aside(long number) {
    return String.format("%016d%s", number, SUFFIX);
  }

  /** Takes a file as a table's last, once it is in its place. */
  void take(String table, long number) {
    last.merge(table, number, Math::max);
  }

  /** Returns the number of the last file, by table. */
  Map<String, Long> last() {
    return Map.copyOf(last);
  }

  static boolean isWhole(Path file) {
    return NAME.matcher(file.getFileName().toString()).matches();
  }

  /** Returns the number of a file that is whole. */
  static long number(Path file) {
    Matcher name = NAME.matcher(file.getFileName().toString());
    if (!name.matches()) {
      throw new IllegalArgumentException(file + " is no change file");
    }
    return Long.parseLong(name.group(1));
  }
}
