package dev.joinery.kernel.files;

import java.io.Closeable;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Comparator;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * The change files of one topic: parts, which threads read side by side, and single records, which
 * are read again from where a part had them.
 */
public final class TopicFiles {
  private static final int BLOCK = 1 << 16;

  private final FilesOptions options;
  private final long partBytes;

  /**
   * Takes the options of {@link FilesSource}, of one topic, and how many bytes a part has before it
   * ends with a line.
   */
  public TopicFiles(Map<String, String> options, long partBytes) {
    this.options = FilesOptions.of(new CaseInsensitiveStringMap(options));
    this.partBytes = partBytes;
  }

  /** Returns all that there is, in the order in which {@link FilesSource} reads it. */
  public List<Part> parts() throws IOException {
    FileCatalog catalog = new FileCatalog(options, null);
    catalog.discover(options.topics());
    List<KnownFile> files =
        new ArrayList<>(catalog.unread(options.topics().get(0), new BitSet()));
    files.sort(Comparator.comparingLong(KnownFile::label).thenComparing(KnownFile::number));
    List<Part> parts = new ArrayList<>();
    for (KnownFile file : files) {
      if (file.size() > 0) {
        Progress.Point start = Progress.Point.START;
        cut(BatchPlan.slice(catalog, 0, file, start, file.size()), parts);
      }
    }
    return parts;
  }

  /** Cuts a file at line ends; not one that puts lines back, whose lines tell their own numbers. */
  private void cut(FileSlice whole, List<Part> parts) throws IOException {
    if (whole.replay() || whole.bytes() <= partBytes) {
      parts.add(new Part(whole, options.maxRecordBytes()));
      return;
    }
    try (FileChannel channel = FileChannel.open(Path.of(whole.path()), StandardOpenOption.READ)) {
      for (long from = whole.from(); from < whole.to(); ) {
        long end = lineEnd(channel, Math.min(from + partBytes, whole.to()), whole.to());
        // A part that does not begin the file has no mark in front: its first line is not line 1.
        long line = from == whole.from() ? whole.firstLine() : Part.LATER;
        parts.add(new Part(within(whole, from, end, line), options.maxRecordBytes()));
        from = end;
      }
    }
  }

  /** Returns where the line ends that the byte before {@code at} is in. */
  private static long lineEnd(FileChannel channel, long at, long end) throws IOException {
    byte[] block = new byte[BLOCK];
    for (long begin = at - 1; begin < end; begin += BLOCK) {
      int wanted = (int) Math.min(BLOCK, end - begin);
      ByteBuffer buffer = ByteBuffer.wrap(block, 0, wanted);
      while (buffer.hasRemaining() && channel.read(buffer, begin + buffer.position()) >= 0) {}
      int found = Lines.find(block, 0, buffer.position());
      if (found >= 0) {
        return begin + found + 1;
      }
    }
    return end;
  }

  private static FileSlice within(FileSlice of, long from, long to, long line) {
    return new FileSlice(
        of.topic(), of.path(), of.name(), of.label(), from, to, line, of.replay());
  }

  /** Lines of one file, which follow one another. */
  public static final class Part {
    /** The number of the first line of a part that does not begin its file. */
    private static final long LATER = 2;

    private final FileSlice slice;
    private final int maxRecordBytes;

    private Part(FileSlice slice, int maxRecordBytes) {
      this.slice = slice;
      this.maxRecordBytes = maxRecordBytes;
    }

    /** The first part of the places of its records. */
    public long label() {
      return slice.label();
    }

    /** The file that the places of its records name. */
    public String name() {
      return slice.name();
    }

    /** Whether nothing of its file stands before it. */
    public boolean beginsFile() {
      return slice.from() == 0;
    }

    /** Returns a reader of all its records. */
    public Reader open() {
      return new Reader(slice, maxRecordBytes);
    }

    /** Returns the record that begins at a byte, and ends before another one begins. */
    public Place at(long begin, long end) {
      return new Place(within(slice, begin, end, begin == 0 ? 1 : LATER), maxRecordBytes);
    }

    /** Where it ends. */
    public long end() {
      return slice.to();
    }
  }

  /** A record, and where it stands. */
  public static final class Place {
    private final FileSlice slice;
    private final int maxRecordBytes;

    private Place(FileSlice slice, int maxRecordBytes) {
      this.slice = slice;
      this.maxRecordBytes = maxRecordBytes;
    }
  }

  /** Reads records one after the other; a row of {@link FilesTable#SCHEMA} is valid until next. */
  public static final class Reader implements Closeable {
    private final FileSlice slice;
    private final FilesReader reader;
    private boolean begun;
    private long begin;

    private Reader(FileSlice slice, int maxRecordBytes) {
      this.slice = slice;
      reader = new FilesReader(List.of(slice), maxRecordBytes);
    }

    /** Goes to the next record; false after the last. */
    public boolean next() throws IOException {
      begin = begun ? reader.reached().offset() : slice.from();
      begun = true;
      return reader.next();
    }

    public InternalRow row() {
      return reader.get();
    }

    /** The byte from which the record is read again; blank lines may stand before it. */
    public long begin() {
      return begin;
    }

    /** The second part of the record's place, counted from where the part begins. */
    public long minor() {
      return slice.replay() ? row().getLong(2) : row().getLong(2) - slice.firstLine() + 1;
    }

    /** How many lines were read that the next part counts from; none of a file that puts back. */
    public long lines() {
      return slice.replay() ? 0 : reader.reached().line() - slice.firstLine() + 1;
    }

    @Override
    public void close() throws IOException {
      reader.close();
    }
  }

  /** Reads single records again, each file of which is opened once. */
  public static Iterator<InternalRow> again(List<Place> places) {
    Opened opened = new Opened();
    int most = places.stream().mapToInt(each -> each.maxRecordBytes).max().orElse(0);
    Iterator<FileSlice> slices = places.stream().map(each -> each.slice).iterator();
    FilesReader reader = new FilesReader(slices, opened, most);
    return new Iterator<>() {
      private int left = places.size();

      @Override
      public boolean hasNext() {
        if (left == 0) {
          opened.close();
        }
        return left > 0;
      }

      @Override
      public InternalRow next() {
        left--;
        try {
          if (!reader.next()) {
            throw new FilesError("a change file was altered while it was read");
          }
        } catch (IOException failure) {
          throw new UncheckedIOException(failure);
        }
        return reader.get();
      }
    };
  }

  /** Channels that stay open from one record of a file to the next. */
  private static final class Opened implements FilesReader.Channels {
    private final Map<String, FileChannel> channels = new HashMap<>();

    @Override
    public FileChannel open(FileSlice slice) throws IOException {
      FileChannel known = channels.get(slice.path());
      if (known == null) {
        known = FileChannel.open(Path.of(slice.path()), StandardOpenOption.READ);
        channels.put(slice.path(), known);
      }
      return known;
    }

    @Override
    public void close(FileChannel channel) {
      // The next record may be of the same file.
    }

    void close() {
      try {
        for (FileChannel each : channels.values()) {
          each.close();
        }
      } catch (IOException failure) {
        throw new UncheckedIOException(failure);
      }
      channels.clear();
    }
  }
}
