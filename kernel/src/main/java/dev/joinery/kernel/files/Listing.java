package dev.joinery.kernel.files;

import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.Comparator;
import java.util.NavigableSet;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Predicate;

/**
 * Lists a folder into which files are renamed in the order of their names.
 *
 * <p>A look through a folder may pass over a file that is renamed meanwhile, and have one that is
 * renamed after that. What was in its place before a file that one look has seen, the next one has.
 *
 * <p>Invariant: where a file is listed, so is each wanted one that was in its place before it.
 */
final class Listing {
  /** A folder may change once more within this time without another time of change. */
  private static final long TICK_MS = 20;

  /** The same where a file system counts whole seconds. */
  private static final long SECONDS_MS = 3000;

  private final Look look;
  private final Comparator<String> order;

  /** Goes through the names in a folder, once. */
  interface Look {
    void at(Path folder, Consumer<String> told) throws IOException;
  }

  Listing(Comparator<String> order) {
    this(order, Listing::look);
  }

  Listing(Comparator<String> order, Look look) {
    this.order = order;
    this.look = look;
  }

  /** Returns the names in a folder that are wanted; none where it is not there yet. */
  NavigableSet<String> of(Path folder, Predicate<String> wanted) throws IOException {
    try {
      long now = System.currentTimeMillis();
      FileTime before = Files.getLastModifiedTime(folder);
      NavigableSet<String> seen = once(folder, wanted);
      boolean still = now - before.toMillis() > tickMs(before);
      if (seen.isEmpty() || (still && before.equals(Files.getLastModifiedTime(folder)))) {
        return seen;
      }
      return once(folder, wanted).headSet(seen.last(), true);
    } catch (NoSuchFileException | NotDirectoryException notThereYet) {
      return new TreeSet<>(order);
    }
  }

  private static long tickMs(FileTime changed) {
    return changed.to(TimeUnit.NANOSECONDS) % 1_000_000_000 == 0 ? SECONDS_MS : TICK_MS;
  }

  private NavigableSet<String> once(Path folder, Predicate<String> wanted) throws IOException {
    NavigableSet<String> names = new TreeSet<>(order);
    look.at(
        folder,
        name -> {
          if (wanted.test(name)) {
            names.add(name);
          }
        });
    return names;
  }

  private static void look(Path folder, Consumer<String> told) throws IOException {
    try (DirectoryStream<Path> files = Files.newDirectoryStream(folder)) {
      for (Path each : files) {
        told.accept(each.getFileName().toString());
      }
    } catch (DirectoryIteratorException failure) {
      throw failure.getCause();
    }
  }
}
