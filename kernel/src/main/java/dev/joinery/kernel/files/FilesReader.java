package dev.joinery.kernel.files;

import dev.joinery.kernel.format.KeyedLine;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;
import org.apache.spark.sql.connector.read.PartitionReader;

/** Reads the lines of slices as rows of {@link FilesTable#SCHEMA}; each row is valid until next. */
final class FilesReader implements PartitionReader<InternalRow> {
  private static final int START_BUFFER = 1 << 18;
  private static final int KEPT_OF_OVERSIZE = 1 << 16;
  private static final int FIELDS = 7;
  private static final byte[] TOO_LARGE = "too_large".getBytes(StandardCharsets.US_ASCII);

  private final Iterator<FileSlice> slices;
  private final Channels channels;
  private final int maxRecordBytes;
  private final KeyedLine keyed = new KeyedLine();
  private final UnsafeRowWriter row = new UnsafeRowWriter(FIELDS, 1024);

  private FileSlice slice;
  private byte[] name;
  private FileChannel channel;

  /** The next byte of the file to read, and the line number of the next line. */
  private long offset;

  private long line;

  private byte[] buffer = new byte[START_BUFFER];
  private int at;
  private int limit;

  /** Opens the files of slices; who opened one closes it. */
  interface Channels {
    FileChannel open(FileSlice slice) throws IOException;

    void close(FileChannel channel) throws IOException;
  }

  /** Opens each file again. */
  private static final class ByPath implements Channels {
    @Override
    public FileChannel open(FileSlice slice) throws IOException {
      return FileChannel.open(Path.of(slice.path()), StandardOpenOption.READ);
    }

    @Override
    public void close(FileChannel channel) throws IOException {
      channel.close();
    }
  }

  FilesReader(List<FileSlice> slices, int maxRecordBytes) {
    this(slices.iterator(), new ByPath(), maxRecordBytes);
  }

  /** Reads slices for as long as there are any; there may be more after {@link #next} was false. */
  FilesReader(Iterator<FileSlice> slices, Channels channels, int maxRecordBytes) {
    this.slices = slices;
    this.channels = channels;
    this.maxRecordBytes = maxRecordBytes;
  }

  /** Returns where the last row of the file at hand ends, or the slice before its first. */
  Progress.Point reached() {
    return new Progress.Point(line - 1, offset - (limit - at));
  }

  @Override
  public boolean next() throws IOException {
    while (slice != null || openNext()) {
      if (nextOfSlice()) {
        return true;
      }
      close();
    }
    return false;
  }

  @Override
  public InternalRow get() {
    return row.getRow();
  }

  private boolean openNext() throws IOException {
    if (!slices.hasNext()) {
      return false;
    }
    FileSlice next = slices.next();
    try {
      channel = channels.open(next);
    } catch (NoSuchFileException gone) {
      throw new FilesError(
          next.path() + " is gone, but not yet read to its end: put it back", gone);
    }
    slice = next;
    name = next.name().getBytes(StandardCharsets.UTF_8);
    offset = next.from();
    line = next.firstLine();
    at = 0;
    limit = 0;
    return true;
  }

  /** Makes the row of the next line that is not blank; false at the slice's end. */
  private boolean nextOfSlice() throws IOException {
    while (true) {
      int end = endOfLine();
      if (end < 0) {
        return false;
      }
      int from = at;
      if (end - from > maxRecordBytes) {
        oversize(from, end);
        return true;
      }
      at = Math.min(end + 1, limit);
      line++;
      if (!blank(from, end)) {
        write(from, end);
        return true;
      }
    }
  }

  /** Returns where the line at {@link #at} ends, or where it is surely too long; -1 at the end. */
  private int endOfLine() throws IOException {
    int searched = at;
    while (true) {
      int end = Lines.find(buffer, searched, limit);
      if (end >= 0) {
        return end;
      }
      if (limit - at > maxRecordBytes) {
        return limit;
      }
      int held = limit - at;
      if (!fill()) {
        return held > 0 ? limit : -1;
      }
      searched = at + held;
    }
  }

  /** Reads more behind what is held; false at the slice's end. */
  private boolean fill() throws IOException {
    if (offset >= slice.to()) {
      return false;
    }
    System.arraycopy(buffer, at, buffer, 0, limit - at);
    limit -= at;
    at = 0;
    if (limit == buffer.length) {
      buffer = Arrays.copyOf(buffer, Math.multiplyExact(buffer.length, 2));
    }
    int wanted = (int) Math.min(buffer.length - limit, slice.to() - offset);
    int read = channel.read(ByteBuffer.wrap(buffer, limit, wanted), offset);
    if (read < 0) {
      throw LineScan.shorter(Path.of(slice.path()));
    }
    limit += read;
    offset += read;
    return true;
  }

  private boolean blank(int from, int end) {
    for (int i = from; i < end; i++) {
      byte next = buffer[i];
      if (next != ' ' && next != '\r' && next != '\t') {
        return false;
      }
    }
    return true;
  }

  private void start(long number) {
    row.reset();
    row.zeroOutNullBytes();
    row.write(0, slice.topic());
    row.write(1, slice.label());
    row.write(2, number);
    row.write(3, name);
  }

  private void write(int from, int end) {
    boolean first = line == 2 && slice.firstLine() == 1;
    int begin = first && startsWithMark(from, end) ? from + 3 : from;
    if (slice.replay()) {
      begin = startReplayed(from, end, line - 1);
    } else {
      start(line - 1);
    }
    if (keyed.split(buffer, begin, end)) {
      writeOrNull(4, keyed.keyFrom, keyed.keyTo);
      writeOrNull(5, keyed.valueFrom, keyed.valueTo);
    } else {
      row.setNullAt(4);
      row.write(5, buffer, begin, end - begin);
    }
    row.setNullAt(6);
  }

  /** Starts the row of a line that has a number in front; returns where what is read begins. */
  private int startReplayed(int from, int end, long ownNumber) {
    long number = 0;
    int at = from;
    while (at < end && buffer[at] >= '0' && buffer[at] <= '9') {
      number = 10 * number + buffer[at++] - '0';
    }
    boolean numbered = at > from && at < end && buffer[at] == '\t';
    start(numbered ? number : ownNumber);
    return numbered ? at + 1 : from;
  }

  /** Whether a byte order mark stands there, which is no part of the first line. */
  private boolean startsWithMark(int from, int end) {
    return end - from >= 3
        && buffer[from] == (byte) 0xef
        && buffer[from + 1] == (byte) 0xbb
        && buffer[from + 2] == (byte) 0xbf;
  }

  private void writeOrNull(int field, int from, int to) {
    if (from < 0) {
      row.setNullAt(field);
    } else {
      row.write(field, buffer, from, to - from);
    }
  }

  /** Makes a row of a line's beginning, and goes on behind its end. */
  private void oversize(int from, int end) throws IOException {
    if (slice.replay()) {
      from = startReplayed(from, end, line);
    } else {
      start(line);
    }
    row.setNullAt(4);
    row.write(5, buffer, from, Math.min(end - from, KEPT_OF_OVERSIZE));
    row.write(6, TOO_LARGE);
    line++;
    at = end;
    int newline = at < limit ? at : -1;
    while (newline < 0) {
      at = limit;
      if (!fill()) {
        return;
      }
      newline = Lines.find(buffer, at, limit);
    }
    at = newline + 1;
  }

  @Override
  public void close() throws IOException {
    slice = null;
    if (channel != null) {
      channels.close(channel);
      channel = null;
    }
  }
}
