package dev.joinery.capture;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.stream.Stream;

/**
 * A change file in sight of those who follow it, before it is complete, under the name that it
 * has then ({@link Chain}).
 *
 * <p>Invariant: it is only appended to, and then becomes the complete file of its number. So what
 * was read of it stands at the same line and byte there, also where a crash ended it.
 */
final class Tail {
  /** Where in a spool they stand, a folder a table. */
  static final String FOLDER = "tail";

  private final Path path;
  private final FileChannel channel;

  private Tail(Path path) throws IOException {
    this.path = path;
    channel =
        FileChannel.open(path, StandardOpenOption.CREATE_NEW, StandardOpenOption.APPEND);
  }

  /** Begins a table's file of a name. */
  static Tail begin(Path spool, String table, String name) throws IOException {
    Path folder = spool.resolve(FOLDER).resolve(table);
    if (!Files.isDirectory(folder)) {
      Files.createDirectories(folder);
      Spool.sync(folder.getParent());
      Spool.sync(spool);
    }
    return new Tail(folder.resolve(name));
  }

  long number() {
    return Chain.number(path);
  }

  /** Appends whole lines. */
  void append(byte[] lines) throws IOException {
    ByteBuffer left = ByteBuffer.wrap(lines);
    while (left.hasRemaining()) {
      channel.write(left);
    }
  }

  /** Puts the file in its place among the complete ones, once it is on the disk. */
  void complete(Path target) throws IOException {
    channel.force(true);
    channel.close();
    put(path, target);
  }

  private static void put(Path path, Path target) throws IOException {
    Files.createDirectories(target);
    Files.move(path, target.resolve(path.getFileName()), StandardCopyOption.ATOMIC_MOVE);
    Spool.sync(target);
  }

  /** Completes what a crash has left, as far as its lines are whole. */
  static void complete(Path spool, Path files, Chain chain) throws IOException {
    Path folder = spool.resolve(FOLDER);
    if (!Files.isDirectory(folder)) {
      return;
    }
    List<Path> left;
    try (Stream<Path> found = Files.walk(folder, 2)) {
      left = found.filter(Files::isRegularFile).sorted().toList();
    }
    for (Path each : left) {
      if (trimmed(each)) {
        String table = each.getParent().getFileName().toString();
        put(each, files.resolve(table));
        chain.take(table, Chain.number(each));
      }
    }
  }

  /** Cuts off a line that was broken off; returns whether any is left. */
  private static boolean trimmed(Path path) throws IOException {
    byte[] content = Files.readAllBytes(path);
    int end = 0;
    // A disk may have zeros where bytes were not written yet; no line has one.
    for (int i = 0; i < content.length && content[i] != 0; i++) {
      end = content[i] == '\n' ? i + 1 : end;
    }
    try (FileChannel channel = FileChannel.open(path, StandardOpenOption.WRITE)) {
      channel.truncate(end);
      channel.force(true);
    }
    return end > 0;
  }
}
