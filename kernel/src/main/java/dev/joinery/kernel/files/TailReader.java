package dev.joinery.kernel.files;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.streaming.SupportsRealTimeRead;

/**
 * Follows the change files of a topic: first what is left of the complete ones, then the one that
 * is being written, as far as its last line is whole, and so on.
 *
 * <p>Invariant: an offset is told only of bytes that are on the disk. What was written of a file is
 * the beginning of the complete one, so the offset holds for that.
 */
final class TailReader implements SupportsRealTimeRead<InternalRow> {
  private static final long LOOK_MS = 2;

  private final TailPartition partition;
  private final Tails tails;
  private final Deque<FileSlice> left;
  private final Deque<FileSlice> given = new ArrayDeque<>();
  private final FilesReader reader;
  private final ArrayList<String> done = new ArrayList<>();
  private String last;
  private long label;
  private TailPartition.Begun begun;
  private long lines;
  private long bytes;

  /** The file at hand; null between two. */
  private Current current;

  private static final class Current {
    final String name;
    final FileChannel channel;

    /** What its rows are told as; the end is that of what was given to be read. */
    FileSlice slice;

    /** Whether nothing more comes behind that end. */
    boolean whole;

    Progress.Point reached;

    Current(String name, FileChannel channel, FileSlice slice, boolean whole) {
      this.name = name;
      this.channel = channel;
      this.slice = slice;
      this.whole = whole;
      reached = new Progress.Point(slice.firstLine() - 1, slice.from());
    }
  }

  private final class OfCurrent implements FilesReader.Channels {
    @Override
    public FileChannel open(FileSlice slice) {
      return current.channel;
    }

    @Override
    public void close(FileChannel channel) {
      // It is read on, and closed with the file at hand.
    }
  }

  TailReader(TailPartition partition, int maxRecordBytes) {
    this.partition = partition;
    tails = new Tails(Path.of(partition.files()), Path.of(partition.tail()));
    left = new ArrayDeque<>(partition.slices());
    last = partition.last();
    label = partition.label();
    begun = partition.begun();
    reader = new FilesReader(new GivenSlices(given), new OfCurrent(), maxRecordBytes);
  }

  /** Slices as they are given: there may be another one after there was none. */
  private record GivenSlices(Deque<FileSlice> given) implements java.util.Iterator<FileSlice> {
    @Override
    public boolean hasNext() {
      return !given.isEmpty();
    }

    @Override
    public FileSlice next() {
      return given.remove();
    }
  }

  @Override
  public boolean next() {
    throw new UnsupportedOperationException("what is followed has no end");
  }

  @Override
  public RecordStatus nextWithTimeout(Long startedAt, Long timeoutMs) throws IOException {
    return nextWithTimeout(timeoutMs);
  }

  @Override
  public RecordStatus nextWithTimeout(Long timeoutMs) throws IOException {
    long until = System.nanoTime() + timeoutMs * 1_000_000;
    while (!hasRow()) {
      long restMs = (until - System.nanoTime()) / 1_000_000;
      if (!advance()) {
        if (restMs <= 0) {
          return RecordStatus.newStatusWithoutArrivalTime(false);
        }
        Pauses.rest(Math.min(restMs, LOOK_MS));
      } else if (restMs < 0) {
        return RecordStatus.newStatusWithoutArrivalTime(false);
      }
    }
    return RecordStatus.newStatusWithoutArrivalTime(true);
  }

  /** Reads a row of what was given; notes how far that is. */
  private boolean hasRow() throws IOException {
    if (current == null) {
      return false;
    }
    boolean row = reader.next();
    Progress.Point reached = reader.reached();
    if (row || current.reached.offset() < current.slice.to()) {
      note(row ? reached : new Progress.Point(reached.line(), current.slice.to()));
    }
    return row;
  }

  private void note(Progress.Point reached) {
    lines += reached.line() - current.reached.line();
    bytes += reached.offset() - current.reached.offset();
    current.reached = reached;
  }

  /** Gives more to be read, where there is more; returns whether anything has changed. */
  private boolean advance() throws IOException {
    if (current == null) {
      return begin();
    }
    if (current.whole) {
      end();
      return true;
    }
    boolean complete = tails.isComplete(current.name); // Asked first: then its size is the last.
    if (grown(complete)) {
      return true;
    }
    if (complete) {
      end();
    }
    return complete;
  }

  /** Gives what was written since, where its last line is whole. */
  private boolean grown(boolean complete) throws IOException {
    long size = current.channel.size();
    long from = current.slice.to();
    if (size <= from || (!complete && !Tails.endsLine(current.channel, size))) {
      return false;
    }
    give(from, size, current.reached.line() + 1);
    return true;
  }

  private void give(long from, long to, long firstLine) {
    FileSlice of = current.slice;
    current.slice =
        new FileSlice(
            of.topic(), of.path(), of.name(), of.label(), from, to, firstLine, of.replay());
    given.add(current.slice);
  }

  /** Goes over to the next file; returns whether there is one. */
  private boolean begin() throws IOException {
    FileSlice slice = left.poll();
    if (slice != null) {
      Path path = Path.of(slice.path());
      current = new Current(path.getFileName().toString(), opened(path), slice, true);
      given.add(slice);
      return true;
    }
    Tails.Next next = begun != null ? tails.named(begun.file()) : tails.next(last);
    if (next == null) {
      if (begun != null) {
        throw new FilesError(
            "topic \"" + partition.topic() + "\": " + begun.file() + " is gone, but not yet read"
                + " to its end: put it back");
      }
      return false;
    }
    open(next);
    return true;
  }

  private void open(Tails.Next next) throws IOException {
    long line = begun == null ? 0 : begun.line();
    long offset = begun == null ? 0 : begun.offset();
    begun = null;
    label += FileCatalog.LABEL_STEP;
    last = next.name();
    String path = Path.of(partition.files()).resolve(next.name()).toString();
    FileSlice slice =
        new FileSlice(
            partition.number(), path, next.name(), label, offset, offset, line + 1, false);
    current = new Current(next.name(), next.channel(), slice, false);
  }

  private static FileChannel opened(Path path) throws IOException {
    try {
      return FileChannel.open(path, StandardOpenOption.READ);
    } catch (NoSuchFileException gone) {
      throw new FilesError(path + " is gone, but not yet read to its end: put it back", gone);
    }
  }

  private void end() throws IOException {
    done.add(current.name);
    current.channel.close();
    current = null;
  }

  @Override
  public InternalRow get() {
    return reader.get();
  }

  @Override
  public TailOffset getOffset() {
    if (current == null) {
      String file = begun == null ? null : begun.file();
      long line = begun == null ? 0 : begun.line();
      long offset = begun == null ? 0 : begun.offset();
      return new TailOffset(partition.topic(), done, file, line, offset, lines, bytes);
    }
    if (!current.whole && current.reached.offset() == 0) {
      return new TailOffset(partition.topic(), done, null, 0, 0, lines, bytes);
    }
    if (!current.whole) {
      try {
        tails.sync(current.channel);
      } catch (IOException failure) {
        throw new FilesError("could not have " + current.slice.path() + " on the disk", failure);
      }
    }
    Progress.Point at = current.reached;
    return new TailOffset(
        partition.topic(), done, current.name, at.line(), at.offset(), lines, bytes);
  }

  @Override
  public void close() throws IOException {
    if (current != null) {
      current.channel.close();
      current = null;
    }
  }
}
