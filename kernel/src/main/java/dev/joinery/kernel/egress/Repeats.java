package dev.joinery.kernel.egress;

import dev.joinery.kernel.message.Event;
import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;

/**
 * Leaves one line of each key in the staged parts of a stream: the newest by its place. So a sink
 * gets a key once a batch, in whatever order it writes lines.
 *
 * <p>The lines of one key may stand in any parts. That they do is found by the hashes of their
 * keys, in memory; only then are keys read and parts written again.
 */
final class Repeats {
  private static final int BUFFER = 1 << 16;

  private final List<Listed> parts;
  private final Map<ByteBuffer, Found> newest = new HashMap<>();
  private final List<List<LineIndex.Line>> older = new ArrayList<>();
  private long lines;
  private long bytes;

  /**
   * A part, and which of its lines have keys that may come again.
   *
   * @param lines what {@link LineIndex} wrote
   */
  record Listed(Path file, byte[] lines) {}

  private record Found(int part, LineIndex.Line line) {}

  private Repeats(List<Listed> parts) {
    this.parts = parts;
    parts.forEach(each -> older.add(new ArrayList<>()));
  }

  /** Removes all lines but the newest of each key from the parts of one stream. */
  static Repeats remove(List<Listed> parts) throws IOException {
    Repeats repeats = new Repeats(parts);
    Set<Long> repeated = repeated(parts);
    if (!repeated.isEmpty()) {
      for (int part = 0; part < parts.size(); part++) {
        repeats.compare(part, repeated);
      }
      for (int part = 0; part < parts.size(); part++) {
        repeats.rewrite(part);
      }
    }
    return repeats;
  }

  /** Whether lines may have keys that come again, by their hashes; reads no part. */
  static boolean areIn(List<Listed> parts) {
    return !repeated(parts).isEmpty();
  }

  /** How many lines were removed. */
  long lines() {
    return lines;
  }

  /** Which parts were written again, by their places in the list. */
  List<Integer> rewritten() {
    return IntStream.range(0, parts.size())
        .filter(part -> !older.get(part).isEmpty())
        .boxed()
        .toList();
  }

  /** How many bytes they had. */
  long bytes() {
    return bytes;
  }

  /** The hashes that more than one line has. */
  private static Set<Long> repeated(List<Listed> parts) {
    long listed = parts.stream().mapToLong(each -> each.lines().length).sum();
    // No entry is shorter than a hash and a place.
    int most = Math.toIntExact(listed / (Long.BYTES + Event.Place.BYTES)) + 1;
    long[] table = new long[Integer.highestOneBit(most) << 2];
    Set<Long> repeated = new HashSet<>();
    for (Listed part : parts) {
      LineIndex.Reader reader = new LineIndex.Reader(part.lines());
      while (reader.hasNext()) {
        long hash = reader.next().hash();
        long sought = hash == 0 ? 1 : hash;
        int at = (int) sought & table.length - 1;
        while (table[at] != 0 && table[at] != sought) {
          at = at + 1 & table.length - 1;
        }
        if (table[at] == sought) {
          repeated.add(hash);
        }
        table[at] = sought;
      }
    }
    return repeated;
  }

  /** Notes the newest line of each key that a part holds of these hashes, and those before it. */
  private void compare(int part, Set<Long> repeated) throws IOException {
    try (Text text = new Text(pathOf(part))) {
      LineIndex.Reader reader = new LineIndex.Reader(parts.get(part).lines());
      while (reader.hasNext()) {
        LineIndex.Line line = reader.next();
        if (repeated.contains(line.hash())) {
          ByteBuffer key = text.at(line.from() + line.keyFrom(), line.keyTo() - line.keyFrom());
          note(key, new Found(part, line));
        }
      }
    }
  }

  private void note(ByteBuffer key, Found found) throws IOException {
    Found known = newest.putIfAbsent(key, found);
    if (known == null) {
      return;
    }
    Found old = isNewer(found, known) ? known : found;
    newest.put(key, old == known ? found : known);
    older.get(old.part()).add(old.line());
    lines++;
    bytes += old.line().size();
  }

  /** Of one place, as where two branches of a stream are united, the texts decide. */
  private boolean isNewer(Found one, Found other) throws IOException {
    int byPlace = one.line().place().compareTo(other.line().place());
    return byPlace != 0 ? byPlace > 0 : textOf(one).compareTo(textOf(other)) > 0;
  }

  private ByteBuffer textOf(Found found) throws IOException {
    try (Text text = new Text(pathOf(found.part()))) {
      return text.at(found.line().from(), found.line().size());
    }
  }

  private Path pathOf(int part) {
    return parts.get(part).file();
  }

  /** A part that is read from its beginning to its end, some bytes here and there. */
  private static final class Text implements AutoCloseable {
    private final FileChannel file;
    private ByteBuffer window = ByteBuffer.allocate(0);
    private long begin;

    Text(Path path) throws IOException {
      file = FileChannel.open(path);
    }

    /** Returns a copy. */
    ByteBuffer at(long from, int size) throws IOException {
      if (from < begin || from + size > begin + window.limit()) {
        fill(from, size);
      }
      byte[] copy = new byte[size];
      window.get((int) (from - begin), copy);
      return ByteBuffer.wrap(copy);
    }

    private void fill(long from, int size) throws IOException {
      begin = from;
      window = ByteBuffer.allocate(Math.max(size, BUFFER));
      while (window.position() < size) {
        if (file.read(window, from + window.position()) < 0) {
          throw new IOException("a staged part is shorter than what was written to it");
        }
      }
      window.flip();
    }

    @Override
    public void close() throws IOException {
      file.close();
    }
  }

  /** Writes a part again without the lines that are not the newest. */
  private void rewrite(int part) throws IOException {
    List<LineIndex.Line> gone = older.get(part);
    if (gone.isEmpty()) {
      return;
    }
    gone.sort(Comparator.comparingLong(LineIndex.Line::from));
    Path path = pathOf(part);
    Path fresh = path.resolveSibling("." + path.getFileName());
    try (InputStream from = new BufferedInputStream(Files.newInputStream(path), BUFFER);
        OutputStream to = new BufferedOutputStream(Files.newOutputStream(fresh), BUFFER)) {
      long at = 0;
      for (LineIndex.Line each : gone) {
        copy(from, each.from() - at, to);
        from.skipNBytes(each.size());
        at = each.from() + each.size();
      }
      from.transferTo(to);
    }
    Files.move(fresh, path, StandardCopyOption.REPLACE_EXISTING);
  }

  private static void copy(InputStream from, long bytes, OutputStream to) throws IOException {
    for (long left = bytes; left > 0; left -= BUFFER) {
      to.write(from.readNBytes((int) Math.min(left, BUFFER)));
    }
  }
}
