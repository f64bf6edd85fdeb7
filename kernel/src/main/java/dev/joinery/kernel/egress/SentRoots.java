package dev.joinery.kernel.egress;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * The roots whose documents an interval of real time sends, in a file beside the checkpoint for
 * each interval: the next run reads those of the interval that was not committed and sends them
 * again.
 */
final class SentRoots implements AutoCloseable {
  /** The name of the file of an interval, before its number. */
  static final String NAME = "real_time.sent.";

  private static final ObjectMapper JSON = new ObjectMapper();

  private final Path checkpoint;
  private final ByteArrayOutputStream added = new ByteArrayOutputStream();
  private FileChannel file;
  private long interval;

  SentRoots(Path checkpoint) {
    this.checkpoint = checkpoint;
  }

  /** Adds a line {@code {"product", "key", "version"}}; {@code version} is JSON. */
  void add(String product, byte[] key, byte[] version) throws JsonProcessingException {
    String line =
        "{\"product\":"
            + JSON.writeValueAsString(product)
            + ",\"key\":"
            + JSON.writeValueAsString(new String(key, StandardCharsets.UTF_8))
            + ",\"version\":"
            + new String(version, StandardCharsets.UTF_8)
            + "}\n";
    added.writeBytes(line.getBytes(StandardCharsets.UTF_8));
  }

  /** Brings what was added to the disk, as of an interval. */
  void keep(long of) throws IOException {
    if (added.size() == 0) {
      return;
    }
    if (file == null || of != interval) {
      begin(of);
    }
    write(ByteBuffer.wrap(added.toByteArray()));
    file.force(false);
    added.reset();
  }

  /**
   * Begins the file of an interval; those before it are committed by then, and go. One of a later
   * interval is of a run that has taken over.
   */
  private void begin(long of) throws IOException {
    close();
    try (DirectoryStream<Path> older = Files.newDirectoryStream(checkpoint, NAME + "*")) {
      for (Path each : older) {
        if (intervalOf(each) < of) {
          Files.delete(each);
        }
      }
    }
    file =
        FileChannel.open(
            checkpoint.resolve(NAME + of), StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    if (file.size() > 0) {
      write(ByteBuffer.wrap(new byte[] {'\n'})); // The last line may be broken off.
    }
    try (FileChannel folder = FileChannel.open(checkpoint, StandardOpenOption.READ)) {
      folder.force(true);
    }
    interval = of;
  }

  private void write(ByteBuffer bytes) throws IOException {
    while (bytes.hasRemaining()) {
      file.write(bytes);
    }
  }

  private static long intervalOf(Path file) {
    return Long.parseLong(file.getFileName().toString().substring(NAME.length()));
  }

  @Override
  public void close() throws IOException {
    if (file != null) {
      file.close();
    }
  }
}
