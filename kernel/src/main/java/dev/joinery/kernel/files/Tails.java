package dev.joinery.kernel.files;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileTime;
import java.util.ArrayDeque;
import java.util.Comparator;
import java.util.Deque;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Finds the next change file of a topic whose files are numbered upwards: a complete one, or the
 * one that is being written. Remembers the complete ones that it found.
 *
 * <p>A file that is being written stands in a folder of its own, under the name that it has among
 * the complete ones ({@link Chain}). It is moved to these, and only then is there another one.
 *
 * <p>Invariant: no file is passed over: whatever has a lower number than another has been put in
 * its place before that one was ({@link Listing}).
 */
final class Tails {
  private static final Pattern WRITTEN = Pattern.compile("([0-9]{16})\\.([0-9]{16})\\.jsonl");
  private static final String NONE = "0".repeat(Chain.NUMBER);
  private static final long SETTLED_MS = 3000;

  /** Looks at a folder that has changed are so far apart, and take a twentieth of the time at most. */
  private static final long LIST_EVERY_NANOS = 20_000_000;

  private static final int REST = 20;

  private final Path complete;
  private final Path written;
  private final Listing listing = new Listing(Comparator.naturalOrder());
  private final Deque<String> found = new ArrayDeque<>();
  private FileTime changed;
  private boolean settled;
  private long listNotBefore;

  /** A file that was found, opened. */
  record Next(String name, FileChannel channel) {}

  Tails(Path complete, Path written) {
    this.complete = complete;
    this.written = written;
    listNotBefore = System.nanoTime();
  }

  /** Returns the file that follows on one of this name, empty for none; null where none is there. */
  Next next(String last) throws IOException {
    if (found.isEmpty()) {
      Matcher candidate = written(last);
      if (candidate != null && candidate.group(2).compareTo(numberOf(last)) <= 0) {
        return opened(written.resolve(candidate.group()), candidate.group(), false);
      }
      if (candidate != null || isDue()) {
        list(last);
      }
    }
    String name = found.poll();
    if (name == null) {
      return null;
    }
    long before = Chain.before(name);
    if (!last.isEmpty() && before > Long.parseLong(Chain.number(last))) {
      throw Chain.missing(complete.getFileName().toString(), before);
    }
    return opened(complete.resolve(name), name, true);
  }

  private static String numberOf(String last) {
    return last.isEmpty() ? NONE : Chain.number(last);
  }

  /**
   * Returns a file that is complete, or is being written; null where it is neither.
   *
   * @param name its own, or that of before complete files had the number of the one before them
   */
  Next named(String name) throws IOException {
    String number = Chain.number(name);
    Matcher candidate = written("");
    if (candidate != null && candidate.group(1).equals(number)) {
      Next next = opened(written.resolve(candidate.group()), candidate.group(), true);
      if (next != null) {
        return next;
      }
    }
    Next next = opened(complete.resolve(name), name, true);
    return next != null ? next : numbered(number);
  }

  /** Returns a complete file by its number, whatever it tells of the one before. */
  private Next numbered(String number) throws IOException {
    try (DirectoryStream<Path> files = Files.newDirectoryStream(complete, number + ".*")) {
      for (Path each : files) {
        String name = each.getFileName().toString();
        if (Chain.isComplete(name)) {
          return opened(each, name, true);
        }
      }
    } catch (NoSuchFileException | NotDirectoryException notThereYet) {
      return null;
    }
    return null;
  }

  /** Returns whether the file that will have a name is being written in a folder, or was left there. */
  static boolean isWritten(Path folder, String name) {
    String number = Chain.number(name);
    try (DirectoryStream<Path> files = Files.newDirectoryStream(folder, number + ".*")) {
      return files.iterator().hasNext();
    } catch (NoSuchFileException | NotDirectoryException notThere) {
      return false;
    } catch (IOException failure) {
      throw new FilesError("could not list " + folder, failure);
    }
  }

  boolean isComplete(String name) {
    return Files.exists(complete.resolve(name));
  }

  /** Has what was written of a file be on the disk, and its name. */
  void sync(FileChannel channel) throws IOException {
    channel.force(true);
    for (Path each : new Path[] {written, complete}) {
      try (FileChannel folder = FileChannel.open(each, StandardOpenOption.READ)) {
        folder.force(true);
      } catch (NoSuchFileException removed) {
        // A capture that starts has put all that was in it in place.
      }
    }
  }

  /** Opens a file; one of which no line is there yet may go again, so it is as if it were not. */
  private static Next opened(Path path, String name, boolean stays) throws IOException {
    FileChannel channel;
    try {
      channel = FileChannel.open(path, StandardOpenOption.READ);
    } catch (NoSuchFileException movedMeanwhile) {
      return null;
    }
    if (stays || endsLine(channel, channel.size())) {
      return new Next(name, channel);
    }
    channel.close();
    return null;
  }

  /** Returns whether the last line of the first {@code size} bytes is whole, and there is one. */
  static boolean endsLine(FileChannel channel, long size) throws IOException {
    ByteBuffer last = ByteBuffer.allocate(1);
    return size > 0 && channel.read(last, size - 1) == 1 && last.get(0) == '\n';
  }

  /** Returns the file that is being written, where its number is above that of {@code last}. */
  private Matcher written(String last) throws IOException {
    try (DirectoryStream<Path> files = Files.newDirectoryStream(written)) {
      for (Path each : files) {
        Matcher matcher = WRITTEN.matcher(each.getFileName().toString());
        if (matcher.matches() && matcher.group(1).compareTo(numberOf(last)) > 0) {
          return matcher;
        }
      }
    } catch (NoSuchFileException | NotDirectoryException notThereYet) {
      return null;
    }
    return null;
  }

  /** Returns whether there may be complete files that were not seen. */
  private boolean isDue() throws IOException {
    if (System.nanoTime() < listNotBefore) {
      return false;
    }
    FileTime at;
    try {
      at = Files.getLastModifiedTime(complete);
    } catch (NoSuchFileException notThereYet) {
      return false;
    }
    boolean quiet = System.currentTimeMillis() - at.toMillis() > SETTLED_MS;
    if (at.equals(changed) && (settled || !quiet)) {
      return false;
    }
    changed = at;
    settled = quiet;
    return true;
  }

  /** Finds the files behind {@code last}. */
  private void list(String last) throws IOException {
    long began = System.nanoTime();
    found.addAll(
        listing.of(complete, name -> name.compareTo(last) > 0 && Chain.isComplete(name)));
    long took = System.nanoTime() - began;
    listNotBefore = began + Math.max(LIST_EVERY_NANOS, REST * took);
  }
}
