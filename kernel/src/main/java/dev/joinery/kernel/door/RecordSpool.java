package dev.joinery.kernel.door;

import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * Keeps keys and values of records, by the place at which each was put, in a file that nobody else
 * sees. One thread puts them; then one thread reads them.
 */
final class RecordSpool implements Closeable {
  private static final int BUFFER = 1 << 20;
  private static final int HEAD = 8;
  private static final int NONE = -1;

  /** A record's key and value, each of which may be null. */
  record Kept(byte[] key, byte[] value) {}

  private final FileChannel channel;
  private final ByteBuffer buffer = ByteBuffer.allocateDirect(BUFFER);
  private long written;

  /** Makes a file, which is gone when the process is. */
  RecordSpool(Path file) throws IOException {
    channel =
        FileChannel.open(
            file,
            StandardOpenOption.CREATE_NEW,
            StandardOpenOption.READ,
            StandardOpenOption.WRITE,
            StandardOpenOption.DELETE_ON_CLOSE);
  }

  /** Keeps a record and returns its place. */
  long put(byte[] key, byte[] value) throws IOException {
    long place = written + buffer.position();
    need(HEAD);
    buffer.putInt(key == null ? NONE : key.length).putInt(value == null ? NONE : value.length);
    put(key);
    put(value);
    return place;
  }

  private void put(byte[] bytes) throws IOException {
    if (bytes == null) {
      return;
    }
    for (int from = 0; from < bytes.length; ) {
      need(1);
      int length = Math.min(buffer.remaining(), bytes.length - from);
      buffer.put(bytes, from, length);
      from += length;
    }
  }

  private void need(int room) throws IOException {
    if (buffer.remaining() < room) {
      flush();
    }
  }

  /** Writes what is still to be written; called before the first record is read. */
  void flush() throws IOException {
    buffer.flip();
    while (buffer.hasRemaining()) {
      written += channel.write(buffer);
    }
    buffer.clear();
  }

  /** Returns the record at a place. */
  Kept get(long place) throws IOException {
    ByteBuffer head = read(place, HEAD);
    int keyLength = head.getInt();
    int valueLength = head.getInt();
    byte[] key = bytes(place + HEAD, keyLength);
    return new Kept(key, bytes(place + HEAD + Math.max(0, keyLength), valueLength));
  }

  private byte[] bytes(long place, int length) throws IOException {
    return length == NONE ? null : read(place, length).array();
  }

  private ByteBuffer read(long place, int length) throws IOException {
    ByteBuffer bytes = ByteBuffer.allocate(length);
    while (bytes.hasRemaining()) {
      if (channel.read(bytes, place + bytes.position()) < 0) {
        throw new IOException("a record is not where it was put");
      }
    }
    return bytes.flip();
  }

  @Override
  public void close() throws IOException {
    channel.close();
  }
}
