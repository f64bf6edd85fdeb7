package dev.joinery.kernel.spark;

import java.io.BufferedInputStream;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.StandardOpenOption;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.NoSuchElementException;
import java.util.function.Supplier;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.unsafe.Platform;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;

/**
 * Rows that one task leaves for another, in their order: in memory, and of those that were moved
 * there, in a file. Written by one thread, then read once by another.
 */
final class RowBuffer {
  private static final int FIRST_PAGE = 1 << 12;
  private static final int LARGEST_PAGE = 1 << 20;
  private static final int FILE_BUFFER = 1 << 16;

  /** Rows one behind the other, each after its size as a long. */
  private static final class Page {
    private final byte[] bytes;
    private int used;

    Page(int size) {
      bytes = new byte[size];
    }

    boolean fits(int size) {
      return size <= bytes.length - used;
    }
  }

  private final int columns;
  private final Supplier<File> files;
  private final Deque<Page> pages = new ArrayDeque<>();
  private long bytes;
  private File file;

  /** {@code files} gives a file of its own to each buffer that needs one. */
  RowBuffer(int columns, Supplier<File> files) {
    this.columns = columns;
    this.files = files;
  }

  /** How many bytes of memory it holds. */
  long bytes() {
    return bytes;
  }

  /** Copies a row. */
  void add(UnsafeRow row) {
    int size = Long.BYTES + row.getSizeInBytes();
    Page page = pages.peekLast();
    if (page == null || !page.fits(size)) {
      int next = page == null ? FIRST_PAGE : Math.min(LARGEST_PAGE, 2 * page.bytes.length);
      page = new Page(Math.max(next, size));
      pages.addLast(page);
      bytes += page.bytes.length;
    }
    long place = (long) Platform.BYTE_ARRAY_OFFSET + page.used;
    Platform.putLong(page.bytes, place, row.getSizeInBytes());
    row.writeToMemory(page.bytes, place + Long.BYTES);
    page.used += size;
  }

  /** Leaves what it holds in its file; returns how many bytes that were. */
  long moveToFile() {
    if (pages.isEmpty()) {
      return 0;
    }
    // One that was given back meanwhile is not made once more.
    StandardOpenOption way = StandardOpenOption.APPEND;
    if (file == null) {
      file = files.get();
      way = StandardOpenOption.CREATE_NEW;
    }
    long moved = 0;
    try (OutputStream out = Files.newOutputStream(file.toPath(), StandardOpenOption.WRITE, way)) {
      for (Page page : pages) {
        out.write(page.bytes, 0, page.used);
        moved += page.used;
      }
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
    pages.clear();
    bytes = 0;
    return moved;
  }

  /** One row, which is another at each step; what was read is held no longer. */
  Iterator<InternalRow> rows() {
    return new Reading();
  }

  private final class Reading extends AbstractIterator<InternalRow> {
    private final UnsafeRow row = new UnsafeRow(columns);
    private Iterator<byte[]> filed = file == null ? null : new Filed();
    private Page page = pages.peekFirst();
    private int at;

    @Override
    public boolean hasNext() {
      if (filed != null) {
        if (filed.hasNext()) {
          return true;
        }
        filed = null;
        file.delete();
      }
      while (page != null && at == page.used) {
        pages.removeFirst();
        page = pages.peekFirst();
        at = 0;
      }
      return page != null;
    }

    @Override
    public InternalRow next() {
      if (!hasNext()) {
        throw new NoSuchElementException();
      }
      if (filed != null) {
        byte[] bytes = filed.next();
        row.pointTo(bytes, bytes.length);
        return row;
      }
      long place = (long) Platform.BYTE_ARRAY_OFFSET + at;
      int size = (int) Platform.getLong(page.bytes, place);
      row.pointTo(page.bytes, place + Long.BYTES, size);
      at += Long.BYTES + size;
      return row;
    }
  }

  /** The rows of the file, each in an array of its own size. */
  private final class Filed extends AbstractIterator<byte[]> {
    private final InputStream in;
    private long left = file.length();

    Filed() {
      try {
        in = new BufferedInputStream(Files.newInputStream(file.toPath()), FILE_BUFFER);
      } catch (IOException error) {
        throw new UncheckedIOException(error);
      }
    }

    @Override
    public boolean hasNext() {
      if (left == 0) {
        try {
          in.close();
        } catch (IOException error) {
          throw new UncheckedIOException(error);
        }
      }
      return left > 0;
    }

    @Override
    public byte[] next() {
      try {
        byte[] size = in.readNBytes(Long.BYTES);
        byte[] row = in.readNBytes((int) Platform.getLong(size, Platform.BYTE_ARRAY_OFFSET));
        left -= size.length + row.length;
        return row;
      } catch (IOException error) {
        throw new UncheckedIOException(error);
      }
    }
  }
}
