package dev.joinery.capture;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileTime;
import java.util.Collection;
import java.util.Comparator;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Stream;

/**
 * Complete change files, a folder a table, and the position up to which they hold everything.
 *
 * <p>Until the first reading of the tables is over, its files stand aside, unseen: should it be
 * broken off, rows that it told of may be gone by the time it begins anew, and nothing would take
 * them back.
 *
 * <p>A table may be held: its changes stand aside until its rows, which are older, are in place. So
 * who reads the files never meets a change that leaves out a large value of a row yet to come.
 *
 * <p>Where somebody follows the files, lines are appended to a file in sight as they come, {@link
 * Tail}. What a crash left of one is completed as it is, with its number.
 *
 * <p>Invariant: what is before the position is in files that are on the disk under their names;
 * files are numbered upwards, also after a crash between a file and its position.
 */
final class Spool {
  private static final String ASIDE = ".snapshot";
  private static final String HELD = ".held";
  private static final String HISTORY = "schema-history.jsonl";

  private final Path folder;
  private final Path files;
  private final Path aside;
  private final Path behind;
  private final Set<String> held = new TreeSet<>();

  /** What a connector notes of the tables' columns, where the log itself does not tell them. */
  private final Path history;

  private final Map<String, ByteArrayOutputStream> open = new TreeMap<>();
  private final Map<String, Tail> tails = new TreeMap<>();
  private final Chain chain;
  private final int fileBytes;
  private boolean whole;
  private boolean follows;
  private long file;
  private Position position;
  private long bytes;
  private long historyBytes = -1;

  Spool(Path folder, int fileBytes) throws IOException {
    this.folder = folder;
    this.files = folder.resolve("files");
    this.aside = aside(folder);
    this.behind = folder.resolve(HELD);
    this.history = folder.resolve(HISTORY);
    this.fileBytes = fileBytes;
    Path kept = folder.resolve("position.json");
    whole = Files.exists(kept);
    if (whole) {
      position = Position.of(Files.readAllBytes(kept));
      chain = new Chain(files, position.last());
      putInPlace();
      trimHistory();
      Tail.complete(folder, files, chain);
    } else {
      chain = new Chain(files, Map.of());
      remove(aside);
      remove(history);
      remove(behind);
    }
    remove(folder.resolve(Tail.FOLDER));
    long last = Math.max(lastFile(files), lastFile(behind));
    file = Math.max(position == null ? 0 : position.file(), last);
  }

  /** Returns where the connector goes on; null where the tables have not been read yet. */
  Position position() {
    return position;
  }

  /** Returns the file in which a connector notes the tables' columns. */
  Path history() {
    return history;
  }

  /** Takes a line of a table. */
  void add(String table, byte[] line) throws IOException {
    ByteArrayOutputStream lines = open.computeIfAbsent(table, each -> new ByteArrayOutputStream());
    lines.write(line);
    lines.write('\n');
    bytes += line.length + 1;
    if (!whole && lines.size() >= fileBytes) {
      write(table, lines, aside);
      open.remove(table);
    }
  }

  /** Has lines be appended to files in sight as they come. */
  void follow() {
    follows = true;
  }

  /** Shows what was taken to those who follow, where there are any; it need not be on the disk. */
  void show() throws IOException {
    if (!whole || !follows) {
      return;
    }
    for (Iterator<Map.Entry<String, ByteArrayOutputStream>> each = open.entrySet().iterator();
        each.hasNext(); ) {
      Map.Entry<String, ByteArrayOutputStream> lines = each.next();
      if (!held.contains(lines.getKey())) {
        tail(lines.getKey()).append(lines.getValue().toByteArray());
        each.remove();
      }
    }
  }

  private Tail tail(String table) throws IOException {
    Tail tail = tails.get(table);
    if (tail == null) {
      tail = Tail.begin(folder, table, chain.name(table, ++file));
      tails.put(table, tail);
    }
    return tail;
  }

  /** Returns whether so much is held that a file is worth while. */
  boolean full() {
    return bytes >= fileBytes;
  }

  /** Returns whether the tables have been read whole, once. */
  boolean whole() {
    return whole;
  }

  /** Writes all that was taken; aside until the tables have been read whole. */
  void write() throws IOException {
    show();
    for (Map.Entry<String, Tail> each : tails.entrySet()) {
      each.getValue().complete(files.resolve(each.getKey()));
      chain.take(each.getKey(), each.getValue().number());
    }
    tails.clear();
    for (Map.Entry<String, ByteArrayOutputStream> each : open.entrySet()) {
      write(each.getKey(), each.getValue(), root(each.getKey()));
    }
    open.clear();
    bytes = 0;
  }

  private Path root(String table) {
    if (held.contains(table)) {
      return behind;
    }
    return whole ? files : aside;
  }

  /** Holds tables until their rows are put in place. */
  void hold(Collection<String> tables) {
    held.addAll(tables);
  }

  /** Notes that the log up to {@code offset} is in the spool: all of it was written. */
  void advance(Map<String, ?> partition, Map<String, ?> offset, long rows) throws IOException {
    syncHistory();
    position = Position.after(partition, offset, file, rows, chain.last());
    put(folder.resolve("position.json"), position.json());
    if (!whole) {
      whole = true;
      putInPlace();
    }
  }

  /** Takes away a line that was broken off: the log tells once more what it noted. */
  private void trimHistory() throws IOException {
    if (!Files.exists(history)) {
      return;
    }
    byte[] noted = Files.readAllBytes(history);
    int end = noted.length;
    while (end > 0 && noted[end - 1] != '\n') {
      end--;
    }
    if (end < noted.length) {
      try (FileChannel out = FileChannel.open(history, StandardOpenOption.WRITE)) {
        out.truncate(end);
      }
    }
  }

  /** Has what is known of columns on the disk before a position after which they are needed. */
  private void syncHistory() throws IOException {
    if (Files.exists(history) && Files.size(history) != historyBytes) {
      sync(history);
      historyBytes = Files.size(history);
    }
  }

  private void write(String table, ByteArrayOutputStream lines, Path root) throws IOException {
    Path target = root.resolve(table);
    Files.createDirectories(target);
    boolean inPlace = root.equals(files);
    String name = inPlace ? chain.name(table, ++file) : Chain.aside(++file);
    put(target.resolve(name), lines.toByteArray());
    if (inPlace) {
      chain.take(table, file);
    }
  }

  /** Puts content under its name once it is on the disk. */
  private static void put(Path target, byte[] content) throws IOException {
    Path part = target.resolveSibling("." + target.getFileName() + ".part");
    try (FileChannel out =
        FileChannel.open(
            part,
            StandardOpenOption.CREATE,
            StandardOpenOption.WRITE,
            StandardOpenOption.TRUNCATE_EXISTING)) {
      ByteBuffer left = ByteBuffer.wrap(content);
      while (left.hasRemaining()) {
        out.write(left);
      }
      out.force(true);
    }
    Files.move(part, target, StandardCopyOption.ATOMIC_MOVE);
    sync(target.getParent());
  }

  static void sync(Path folder) throws IOException {
    try (FileChannel handle = FileChannel.open(folder, StandardOpenOption.READ)) {
      handle.force(true);
    }
  }

  /** Puts the files of the first reading in place; repeated where that was broken off. */
  private void putInPlace() throws IOException {
    if (!Files.isDirectory(aside)) {
      return;
    }
    try (DirectoryStream<Path> tables = Files.newDirectoryStream(aside)) {
      for (Path table : tables) {
        String name = table.getFileName().toString();
        for (Path each : filesIn(table)) {
          touch(put(each, name, Chain.number(each)));
        }
        sync(Files.createDirectories(files.resolve(name)));
      }
    }
    remove(aside);
  }

  /** Puts rows of a table in place that were read beside the log, and behind them what was held. */
  void adopt(String table, Path rows) throws IOException {
    write();
    move(table, rows);
    move(table, Reading.files(table, rows));
    move(table, behind.resolve(table));
    held.remove(table);
  }

  private void move(String table, Path folder) throws IOException {
    List<Path> each = Files.isDirectory(folder) ? filesIn(folder) : List.of();
    for (Path one : each) {
      touch(one);
      put(one, table, ++file);
    }
    if (!each.isEmpty()) {
      sync(files.resolve(table));
    }
  }

  private static List<Path> filesIn(Path folder) throws IOException {
    try (Stream<Path> found = Files.list(folder)) {
      return found.filter(Chain::isWhole).sorted().toList();
    }
  }

  /** Puts a file that stood aside in place, as the last of its table. */
  private Path put(Path file, String table, long number) throws IOException {
    Path target = files.resolve(table);
    Files.createDirectories(target);
    Path name = target.resolve(chain.name(table, number));
    Files.move(file, name, StandardCopyOption.ATOMIC_MOVE);
    chain.take(table, number);
    return name;
  }

  /** Has a file be as old as its place in the spool: it is kept from now on, however long ago read. */
  private static void touch(Path file) throws IOException {
    Files.setLastModifiedTime(file, FileTime.fromMillis(System.currentTimeMillis()));
  }

  /** Returns where in a spool files stand that are not in place yet. */
  static Path aside(Path folder) {
    return folder.resolve(ASIDE);
  }

  private static long lastFile(Path root) throws IOException {
    if (!Files.isDirectory(root)) {
      return 0;
    }
    try (Stream<Path> all = Files.walk(root, 2)) {
      return all.filter(Chain::isWhole).mapToLong(Chain::number).max().orElse(0);
    }
  }

  static void remove(Path folder) throws IOException {
    if (!Files.exists(folder)) {
      return;
    }
    try (Stream<Path> all = Files.walk(folder)) {
      for (Path each : all.sorted(Comparator.reverseOrder()).toList()) {
        Files.delete(each);
      }
    }
  }
}
