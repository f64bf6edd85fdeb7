package dev.joinery.kernel.files;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;

/** Counts the lines of files; remembers a place now and then, where a batch may be split. */
final class LineScan {
  private static final int BLOCK = 1 << 18;

  private final byte[] block = new byte[BLOCK];

  /** The places of the last scan, at line starts, in order. */
  final List<Progress.Point> marks = new ArrayList<>();

  /**
   * Goes from {@code start} over at most {@code maxLines} lines, until {@code maxBytes} are passed
   * or the file's {@code size} is reached, and returns that place, behind a line's end.
   */
  Progress.Point scan(
      Path file, long size, Progress.Point start, long maxLines, long maxBytes) {
    marks.clear();
    try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ)) {
      long offset = start.offset();
      long line = start.line();
      boolean inLine = false;
      while (offset < size) {
        int length = fill(channel, file, offset, size);
        long linesLeft = maxLines - (line - start.line());
        long bytesLeft = maxBytes - (offset - start.offset());
        int cut = cut(length, linesLeft, bytesLeft);
        if (cut >= 0) {
          return new Progress.Point(line + Lines.count(block, 0, cut), offset + cut);
        }
        int last = Lines.findLast(block, 0, length);
        line += Lines.count(block, 0, length);
        inLine = last != length - 1;
        if (last >= 0) {
          marks.add(new Progress.Point(line, offset + last + 1));
        }
        offset += length;
      }
      return new Progress.Point(inLine ? line + 1 : line, size);
    } catch (IOException failure) {
      throw new FilesError("could not read " + file, failure);
    }
  }

  /** Returns how much of the block is taken, -1 for all of it and on. */
  private int cut(int length, long linesLeft, long bytesLeft) {
    int within = (int) Math.min(length, Math.max(bytesLeft, 0));
    if (Lines.count(block, 0, within) >= linesLeft) {
      return Lines.findNth(block, 0, within, linesLeft) + 1;
    }
    if (bytesLeft > length) {
      return -1;
    }
    int end = Lines.find(block, Math.max(within - 1, 0), length);
    return end < 0 ? -1 : end + 1;
  }

  private int fill(FileChannel channel, Path file, long offset, long size) throws IOException {
    int wanted = (int) Math.min(BLOCK, size - offset);
    ByteBuffer buffer = ByteBuffer.wrap(block, 0, wanted);
    while (buffer.hasRemaining()) {
      if (channel.read(buffer, offset + buffer.position()) < 0) {
        throw shorter(file);
      }
    }
    return wanted;
  }

  static FilesError shorter(Path file) {
    return new FilesError(
        file + " has become shorter since it was first seen: change files must not be altered;"
            + " put a new one beside it instead");
  }
}
